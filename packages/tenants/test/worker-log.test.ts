import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { torchWorkerFile } from '@pctodl/tenants'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WorkerSide } from '../src/worker/worker-side.js'

const hasPython = spawnSync('python3', ['-V']).status === 0

/** What somebody may plant in a folder of logs that he can write to. */
describe('the log of a worker', () => {
  let folder: string
  let precious: string
  let link: string
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'worker-log-'))
    precious = path.join(folder, 'precious')
    link = path.join(folder, 'worker-0.jsonl')
    writeFileSync(precious, 'precious')
    symlinkSync(precious, link)
  })
  afterEach(() => {
    expect(readFileSync(precious, 'utf8')).toBe('precious')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  it('does not go where a link leads', () => {
    expect(() => new WorkerSide().logTo(link)).toThrow(/ELOOP/)
    rmSync(link)
    new WorkerSide().logTo(link)
    expect(readFileSync(link, 'utf8')).toBe('')
  })

  it('does not wait for the reader of a pipe', () => {
    const pipe = path.join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const reader = spawn('sh', ['-c', 'sleep 3; exec cat "$0"', pipe])
    try {
      expect(() => new WorkerSide().logTo(pipe)).toThrow(/ENXIO/)
    } finally {
      reader.kill()
    }
  })

  it.skipIf(!hasPython).each([
    ['a link', 'Too many levels of symbolic links'],
    ['a pipe', 'No such device or address'],
  ])('does not go to %s in the PyTorch worker either (needs python3)', (kind, reason) => {
    if (kind === 'a pipe') {
      rmSync(link)
      execFileSync('mkfifo', [link])
    }
    const start = {
      type: 'start',
      version: 1,
      model: 'resnet50',
      modelFile: null,
      mpsPercent: 25,
      batchSize: 8,
      images: { file: '/nonexistent', count: 8, channels: 3, height: 224, width: 224 },
      logFile: link,
      sampleBytes: null,
      memoryLimitBytes: null,
      options: {},
    }
    const input = `${JSON.stringify(start)}\n`
    const options = { input, encoding: 'utf8', timeout: 240_000, killSignal: 'SIGKILL' } as const
    const { stdout, status } = spawnSync('python3', ['-u', torchWorkerFile()], options)
    expect(status).toBe(1)
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toMatchObject({
      type: 'failed',
      message: `cannot write ${link}: ${reason}`,
    })
  })
})

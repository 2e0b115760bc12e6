import { spawnSync } from 'node:child_process'
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

  it.skipIf(!hasPython)('does not in the PyTorch worker either (needs python3)', () => {
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
    const { stdout, status } = spawnSync('python3', ['-u', torchWorkerFile()], { input, encoding: 'utf8' })
    expect(status).toBe(1)
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toMatchObject({
      type: 'failed',
      message: expect.stringMatching(/^cannot write .*worker-0\.jsonl: Too many levels of symbolic links/),
    })
  })
})

import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Job, SlurmExecutor } from '@pctodl/job-array'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { JobOutcome } from '../src/job-array.js'
import { arrayScript, compactIndices, shellQuote } from '../src/slurm-script.js'
import { OneNodeSlurm, slurmHindrance } from './one-node-slurm.js'

describe('the batch script', () => {
  it('names indices in the short form', () => {
    expect(compactIndices([0, 1, 2, 5, 7, 8])).toBe('0-2,5,7-8')
    expect(compactIndices([3])).toBe('3')
  })

  it('quotes words that a shell would take apart', () => {
    expect(shellQuote('--gpu=A100')).toBe('--gpu=A100')
    expect(shellQuote("it's $HOME")).toBe("'it'\\''s $HOME'")
    expect(shellQuote('')).toBe("''")
  })

  it('has a line for the asked elements only', () => {
    const job = (id: string): Job => ({ id, command: ['echo', id] })
    const script = arrayScript([job('a'), job('b c')], [1], '/work dir', 'mark')
    expect(script).toContain("1) (exec echo 'b c') ;;")
    expect(script).not.toContain('0) echo')
  })

  it('leaves its exit code where it belongs, whatever link others have planted beside it', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-slurm-script-'))
    for (const name of ['claim', 'exit']) mkdirSync(path.join(folder, name))
    const precious = path.join(folder, 'precious')
    writeFileSync(precious, 'precious')
    for (const name of ['mark-0', 'mark-0.unfinished']) symlinkSync(precious, path.join(folder, 'exit', name))
    const script = arrayScript([{ id: 'a', command: ['sh', '-c', 'exit 7'] }], [0], folder, 'mark')
    const run = (jobId: string) => {
      const env = { ...process.env, SLURM_ARRAY_TASK_ID: '0', SLURM_JOB_ID: jobId }
      const { status, stderr } = spawnSync('sh', ['-c', script], { env })
      return [status, String(stderr)]
    }
    expect(run('8')).toEqual([7, ''])
    // Back in the queue it runs again; as another job it does not.
    expect(run('8')).toEqual([7, ''])
    expect(run('9')).toEqual([75, 'not run: this job has run already\n'])
    expect(readFileSync(path.join(folder, 'exit', 'mark-0'), 'utf8')).toBe('7\n')
    expect(readFileSync(precious, 'utf8')).toBe('precious')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
})

const hindrance = slurmHindrance()

describe.skipIf(hindrance)(`on a real one-node Slurm${hindrance ? ` (skipped: ${hindrance})` : ''}`, () => {
  const cluster = new OneNodeSlurm()
  const environment = { SLURM_CONF: process.env['SLURM_CONF'] }
  let folder: string

  beforeAll(async () => {
    await cluster.up()
    process.env['SLURM_CONF'] = cluster.configurationFile
  })

  afterAll(async () => {
    await cluster.down()
    if (environment.SLURM_CONF === undefined) delete process.env['SLURM_CONF']
    else process.env['SLURM_CONF'] = environment.SLURM_CONF
  })

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'slurm jobs '))
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  const node = (script: string, ...args: string[]) => [process.execPath, '-e', script, ...args] as const

  it('runs every job once, each with a GPU of its own, and reports exit codes', async () => {
    const script =
      "require('fs').appendFileSync(process.argv[1], process.env.CUDA_VISIBLE_DEVICES + '\\n'); process.exit(Number(process.argv[2]))"
    const jobs: Job[] = [0, 0, 3].map((code, i) => ({
      id: `job ${i}`,
      command: node(script, path.join(folder, `it's ${i}`), String(code)),
    }))
    const seen: JobOutcome[] = []
    const executor = new SlurmExecutor({
      workDir: path.join(folder, 'work'),
      gres: 'gpu:1',
      pollMs: 300,
      resubmissions: 0,
    })
    const outcomes = await executor.run(jobs, { onOutcome: (outcome) => seen.push(outcome) })
    expect(outcomes.map(({ id, exitCode }) => [id, exitCode])).toEqual([
      ['job 0', 0],
      ['job 1', 0],
      ['job 2', 3],
    ])
    expect(outcomes[2]!.reason).toContain('2.log')
    expect(new Set(seen)).toEqual(new Set(outcomes))
    for (const i of [0, 1, 2]) expect(readFileSync(path.join(folder, `it's ${i}`), 'utf8')).toMatch(/^[01]\n$/)
  })

  it('submits again what failed, and only that', async () => {
    const failingOnce = `const f = process.argv[1]; const fs = require('fs'); const n = fs.existsSync(f) ? fs.readFileSync(f, 'utf8').length : 0; fs.appendFileSync(f, 'x'); process.exit(process.argv[2] === 'flaky' && n === 0 ? 1 : 0)`
    const jobs: Job[] = ['steady', 'flaky'].map((id) => ({ id, command: node(failingOnce, path.join(folder, id), id) }))
    const outcomes = await new SlurmExecutor({ workDir: path.join(folder, 'work'), pollMs: 300 }).run(jobs)
    expect(outcomes).toEqual([
      { id: 'steady', exitCode: 0, attempts: 1 },
      { id: 'flaky', exitCode: 0, attempts: 2 },
    ])
    expect(readFileSync(path.join(folder, 'steady'), 'utf8')).toBe('x')
    expect(readFileSync(path.join(folder, 'flaky'), 'utf8')).toBe('xx')
  })

  it('cancels the whole array when aborted', async () => {
    const started = path.join(folder, 'started')
    const script = "require('fs').writeFileSync(process.argv[1] + process.argv[2], ''); setTimeout(() => {}, 60000)"
    const jobs: Job[] = [0, 1, 2].map((i) => ({ id: String(i), command: node(script, started, String(i)) }))
    const aborting = new AbortController()
    const running = new SlurmExecutor({ workDir: path.join(folder, 'work'), gres: 'gpu:1', pollMs: 200 }).run(jobs, {
      signal: aborting.signal,
    })
    const watch = setInterval(() => {
      if (existsSync(`${started}0`)) aborting.abort(new Error('enough'))
    }, 50)
    await expect(running).rejects.toThrow('enough')
    clearInterval(watch)
    expect(readdirSync(path.join(folder, 'work', 'exit'))).toEqual([])
  })

  it('follows the array of a call that heard no answer', async () => {
    const { PATH } = process.env
    const ran = path.join(folder, 'ran')
    const jobs: Job[] = [0, 1].map((i) => ({ id: String(i), command: ['sh', '-c', 'echo x >> "$1"', 'sh', ran] }))
    const workDir = path.join(folder, 'work')
    try {
      // It takes what it is called with, and nobody hears of it.
      for (const [name, body] of Object.entries({
        sbatch: `PATH='${PATH}' sbatch "$@" > '${folder}/taken'`,
        squeue: '',
      })) {
        writeFileSync(path.join(folder, name), `#!/bin/sh\n${body}\necho "Socket timed out" >&2; exit 1\n`, {
          mode: 0o755,
        })
      }
      process.env['PATH'] = `${folder}:${PATH}`
      const first = new SlurmExecutor({ workDir, longestSilenceMs: 0 })
      await expect(first.run(jobs)).rejects.toMatchObject({ code: 'SLURM_UNREACHABLE' })
    } finally {
      process.env['PATH'] = PATH
    }
    expect(readFileSync(path.join(folder, 'taken'), 'utf8')).toMatch(/^\d+$/m)
    const outcomes = await new SlurmExecutor({ workDir, pollMs: 300 }).run(jobs)
    expect(outcomes.map(({ exitCode, attempts }) => [exitCode, attempts])).toEqual([
      [0, 1],
      [0, 1],
    ])
    expect([readFileSync(ran, 'utf8'), existsSync(path.join(workDir, 'array.json'))]).toEqual(['x\nx\n', false])
  })

  it('says what sbatch said when it refuses', async () => {
    const executor = new SlurmExecutor({ workDir: folder, partition: 'nowhere' })
    await expect(executor.run([{ id: 'a', command: ['true'] }])).rejects.toThrow(/sbatch .*partition/i)
  })
})

it('says where to run it when there is no Slurm', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'no-slurm-'))
  const { PATH } = process.env
  try {
    process.env['PATH'] = folder
    writeFileSync(path.join(folder, 'x'), '')
    const executor = new SlurmExecutor({ workDir: path.join(folder, 'work') })
    await expect(executor.run([{ id: 'a', command: ['true'] }])).rejects.toThrow(/sbatch .*not found.*login node/)
  } finally {
    process.env['PATH'] = PATH
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
})

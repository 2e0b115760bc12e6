import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '@pctodl/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SlurmExecutor, SlurmJobs, SlurmNodes, type SlurmSilence } from '../src/index.js'

const request = { id: 'a', command: ['true'], cpusPerNode: 1 } as const

describe('a Slurm that does not answer, played by scripts', () => {
  const { PATH } = process.env
  let folder: string
  let told: string[]
  let waited: number[]
  const inFolder = (...parts: string[]) => path.join(folder, ...parts)
  const callsOf = (name: string) =>
    readFileSync(inFolder(`${name}.calls`), 'utf8')
      .trim()
      .split('\n').length

  /** A command that fails so many times in a row, and then does `body`. */
  function play(name: string, failures: number, body: string): void {
    const fail = 'echo "Unable to contact slurm controller" >&2; exit 1'
    const lines = [
      '#!/bin/sh',
      `echo "$@" >> ${inFolder(`${name}.calls`)}`,
      `[ $(wc -l < ${inFolder(`${name}.calls`)}) -gt ${failures} ] || { ${fail}; }`,
      body,
    ]
    writeFileSync(inFolder('bin', name), `${lines.join('\n')}\n`)
    chmodSync(inFolder('bin', name), 0o755)
  }

  /** Time passes where somebody waits for it. */
  function waitingClock(): Clock {
    let nowMs = 0
    const sleep: Clock['sleep'] = async (ms, signal) => {
      signal?.throwIfAborted()
      waited.push(ms)
      nowMs += ms
    }
    return { ...systemClock, now: () => nowMs, sleep }
  }
  const patient = (more = {}) => ({
    ...{ workDir: inFolder('work'), clock: waitingClock(), pollMs: 1000 },
    onSilence: ({ error, forMs, againInMs }: SlurmSilence) =>
      told.push(error ? `${forMs}: again in ${againInMs}` : `${forMs}: answers`),
    ...more,
  })

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'slurm-silence-'))
    mkdirSync(inFolder('bin'))
    process.env['PATH'] = `${inFolder('bin')}:${PATH}`
    told = []
    waited = []
    play('sbatch', 0, 'echo 7')
    play('squeue', 0, 'echo 7 TIMEOUT')
    play('scancel', 0, '')
  })
  afterEach(() => {
    process.env['PATH'] = PATH
    rmSync(folder, { recursive: true, force: true })
  })

  it('is asked for its jobs less and less often, and the operator is told', async () => {
    play('squeue', 3, 'echo 7 TIMEOUT')
    const jobs = new SlurmJobs(patient())
    await jobs.submit(request)
    const { ends } = await jobs.next(Number.POSITIVE_INFINITY)
    expect(ends).toMatchObject([{ id: 'a', state: 'TIMEOUT' }])
    expect(told).toEqual(['0: again in 1000', '1000: again in 2000', '3000: again in 4000', '7000: answers'])
    expect(callsOf('squeue')).toBe(4)
    jobs.close()
  })

  it('is given up after the stated time, not before, and its jobs are left', async () => {
    play('squeue', 99, '')
    const jobs = new SlurmJobs(patient({ longestSilenceMs: 200_000 }))
    await jobs.submit(request)
    await expect(jobs.next(Number.POSITIVE_INFINITY)).rejects.toMatchObject({
      code: 'SLURM_UNREACHABLE',
      message: expect.stringMatching(/has not answered for 200 s; its jobs 7 are left running: call again/),
    })
    // A minute at most, and the last time when the time is up.
    const waits = told.map((each) => Number(each.split(' in ')[1]))
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 17_000])
    jobs.close()
  })

  it('is not silent while nobody asks', async () => {
    play('squeue', 99, '')
    const clock = waitingClock()
    const jobs = new SlurmJobs(patient({ clock, longestSilenceMs: 200_000 }))
    await jobs.submit(request)
    await jobs.next(clock.now())
    await clock.sleep(2_400_000)
    await jobs.next(clock.now())
    expect(told).toEqual(['0: again in 1000', '0: again in 1000'])
    jobs.close()
  })

  it('answers where it refuses, whatever the words that it was called with', async () => {
    play('sbatch', 0, 'echo "invalid partition specified" >&2; exit 1')
    const jobs = new SlurmJobs(patient({ partition: 'Transport' }))
    await expect(jobs.submit(request)).rejects.toMatchObject({ code: 'SLURM' })
    expect(callsOf('sbatch')).toBe(1)
    // A silence that ends with a refusal has ended.
    play('sbatch', 1, 'echo "invalid partition specified" >&2; exit 1')
    rmSync(inFolder('sbatch.calls'))
    await expect(jobs.submit({ ...request, id: 'b' })).rejects.toMatchObject({ code: 'SLURM' })
    expect(told).toEqual(['0: again in 1000', '1000: answers'])
    jobs.close()
    for (const pollMs of [0, Number.NaN]) {
      const expected = /pollMs: got .*, expected milliseconds of at least 1/
      expect(() => new SlurmJobs(patient({ pollMs }))).toThrow(expected)
      expect(() => new SlurmExecutor(patient({ pollMs }))).toThrow(expected)
    }
    expect(() => new SlurmJobs(patient({ commandTimeoutMs: 0 }))).toThrow(/commandTimeoutMs/)
  })

  it('gets a job or an array once that it has not taken at first', async () => {
    play('squeue', 0, 'true')
    play('sbatch', 3, 'echo 7')
    const jobs = new SlurmJobs(patient())
    await jobs.submit(request)
    jobs.close()
    expect(waited).toEqual([1000, 2000, 4000])
    expect(readFileSync(inFolder('work', 'job', 'a'), 'utf8')).toBe('7')
    // The array was taken, without an answer: it is found by its mark.
    const mark = `$(echo "$@" | sed 's/.*--comment=\\([^ ]*\\).*/\\1/')`
    play('sbatch', 0, `echo "0 8 ${mark}" > ${inFolder('queue')}; echo "Socket timed out" >&2; exit 1`)
    const noted = `$(sed 's/.*"mark":"\\([^"]*\\)".*/\\1/' ${inFolder('array', 'array.json')})`
    play('squeue', 0, `cat ${inFolder('queue')}; echo 0 > ${inFolder('array', 'exit')}/${noted}-0`)
    rmSync(inFolder('sbatch.calls'))
    const array = new SlurmExecutor(patient({ workDir: inFolder('array') }))
    expect(await array.run([request])).toMatchObject([{ exitCode: 0, attempts: 1 }])
    expect(callsOf('sbatch')).toBe(1)
  })

  it('is not waited for by who is told to end', async () => {
    play('sbatch', 99, '')
    play('squeue', 99, '')
    const aborting = new AbortController()
    const jobs = new SlurmJobs(patient({ onSilence: () => aborting.abort(new Error('enough')) }))
    await expect(jobs.submit(request, aborting.signal)).rejects.toThrow('enough')
    jobs.close()
  })

  it('is told of where it does not answer for its nodes, in the end as an error', async () => {
    play('sinfo', 3, 'echo n1 down')
    const nodes = new SlurmNodes({ ...patient({ clock: systemClock }), nodes: ['n1'], pollMs: 1 })
    for (;;) {
      const [change] = await nodes.look()
      if (change) break
    }
    expect(told).toHaveLength(4)
    expect(told[3]).toMatch(/answers$/)
    play('sinfo', 99, '')
    const given = new SlurmNodes({ ...patient({ longestSilenceMs: 0 }), nodes: ['n1'] })
    await expect(given.look()).rejects.toMatchObject({ code: 'SLURM_UNREACHABLE' })
    for (const pollMs of [0, -1, Number.NaN]) {
      expect(() => new SlurmNodes({ nodes: ['n1'], pollMs })).toThrow(/nodePollMs: got .*, expected milliseconds of at/)
    }
  })
})

import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '@pctodl/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { sensitivity } from '../src/commands.js'
import { executeSchedule, SlurmScheduleExecutor } from '../src/node.js'
import { cluster, profiles } from './one-node-schedule.js'

/** Never waits. */
const hurried: Clock = { ...systemClock, sleep: async (_, signal) => signal?.throwIfAborted() }
const jobs = [{ id: 0, model: 'modest', gpus: 1, arrivalS: 0, iterations: 1 }]
const rules = { cluster, profiles, jobs, policy: 'fifo', mechanism: 'tune' } as const

describe('a schedule on a Slurm that does not answer for a while, played by scripts', () => {
  const { PATH } = process.env
  let folder: string
  const inFolder = (name: string) => path.join(folder, name)

  /** A command that fails so many times in a row, and then does `body`. */
  function play(name: string, failures: number, body: string): void {
    const calls = inFolder(`${name}.calls`)
    const fails = `[ $(wc -l < ${calls}) -gt ${failures} ] || { echo "Unable to contact slurm controller" >&2; exit 1; }`
    writeFileSync(inFolder(name), `#!/bin/sh\necho "$@" >> ${calls}\n${fails}\n${body}\n`)
    chmodSync(inFolder(name), 0o755)
  }

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'schedule-silence-'))
    process.env['PATH'] = `${folder}:${PATH}`
    play('sbatch', 0, 'echo 7')
    play('squeue', 0, 'true')
    play('scancel', 0, '')
    play('sinfo', 0, 'echo node0 idle')
  })
  afterEach(() => {
    process.env['PATH'] = PATH
    rmSync(folder, { recursive: true, force: true })
  })

  const executorHere = (more = {}) =>
    new SlurmScheduleExecutor({
      ...{ workDir: inFolder('work'), nodes: ['node0'], commandOf: () => ['true'] as const },
      ...{ clock: hurried, pollMs: 1, nodePollMs: 1, maxFailures: 0 },
      ...more,
    })

  it('goes on where each of its commands failed three times in a row, and tells', async () => {
    // The run begins when the nodes have been told of.
    play('sbatch', 3, 'echo 7')
    play('sinfo', 3, 'echo node0 idle')
    const nodesAreTold = `[ $(wc -l < ${inFolder('sinfo.calls')}) -gt 3 ]`
    play('squeue', 3, `if ${nodesAreTold}; then sh ${inFolder('work')}/script/0.1 >&2; else echo 7 RUNNING; fi`)
    const failed: string[] = []
    const executor = executorHere({
      onSilence: ({ error }: { error: Error | null }) => failed.push(error ? error.message.split(' ')[0]! : 'answers'),
    })
    expect(await executeSchedule(rules, executor)).toMatchObject([{ outcome: 'finished', runs: 1 }])
    const times = (name: string) => failed.filter((each) => each === name).length
    expect(['sinfo', 'sbatch', 'squeue', 'answers'].map(times)).toEqual([3, 3, 3, 2])
  })

  it('runs no job again that Slurm calls completed, although its exit code could not be written', async () => {
    // As on a full disk, or on a network file system that does not show the file yet.
    play('squeue', 0, 'echo 7 COMPLETED')
    expect(await executeSchedule(rules, executorHere())).toMatchObject([{ outcome: 'finished', runs: 1 }])
    expect(readFileSync(inFolder('sbatch.calls'), 'utf8').trim().split('\n')).toHaveLength(1)
  })

  it('is not resumed with its nodes in another order, which would be other servers', async () => {
    const two = { ...rules, cluster: { servers: [{ ...cluster.servers[0]!, count: 2 }] } }
    const execution = { ...two, journal: inFolder('journal.jsonl') }
    play('sinfo', 0, 'printf "node0 idle\\nnode1 idle\\n"')
    play('squeue', 0, 'echo 7 COMPLETED')
    await executeSchedule(execution, executorHere({ nodes: ['node0', 'node1'] }))
    const turned = executeSchedule(execution, executorHere({ nodes: ['node1', 'node0'] }))
    await expect(turned).rejects.toThrow('the journal of another schedule')
  })

  it('counts from the last plan where the clock was set back while nobody watched', async () => {
    const executor = executorHere({ pollMs: 1000 })
    const grant = { cpusPerGpu: 1, memoryGbPerGpu: 1 }
    const place = { ...({ type: 'place', jobId: 0, run: 1, placement: [{ server: 0, gpus: 1 }] } as const), ...grant }
    const nowUnixMs = Date.now()
    // A thousand seconds had passed, and then the clock was set back by an hour. The job ended two seconds ago.
    const startedUnixMs = nowUnixMs + 3_600_000 - 1_000_000
    for (const [name, text] of [
      ['intent', ''],
      ['job', '7'],
      ['start', `${nowUnixMs / 1000 - 9} 1 none 7`],
      ['exit', `${nowUnixMs / 1000 - 2} 0`],
    ]) {
      writeFileSync(path.join(inFolder('work'), name!, '0.1'), text!, { mode: 0o600 })
    }
    const entries = [{ timeS: 1000, events: [], facts: [], actions: [place] }]
    await executor.resume({ startedUnixMs, entries }, () => jobs[0]!)
    const events = [...(await executor.next(1100)), ...(await executor.close())]
    const { atS } = events.find((event) => event.type === 'finished') as { atS: number }
    expect(Math.abs(atS - 998)).toBeLessThan(1)
  })

  it('gives a job its time to save from when it was told, however late that was', async () => {
    play('squeue', 0, 'echo 7 RUNNING')
    play('scancel', 3, '')
    let nowMs = 0
    const sleep: Clock['sleep'] = async (ms) => {
      nowMs += ms
    }
    const clock = { ...systemClock, now: () => nowMs, sleep }
    const executor = executorHere({ clock, pollMs: 1000, graceS: 5 })
    const grant = { cpusPerGpu: 1, memoryGbPerGpu: 1 }
    const place = { ...({ type: 'place', jobId: 0, run: 1, placement: [{ server: 0, gpus: 1 }] } as const), ...grant }
    await executor.apply([place], () => jobs[0]!)
    writeFileSync(path.join(inFolder('work'), 'start', '0.1'), '0 1 none 7')
    await executor.apply([{ type: 'preempt', jobId: 0, run: 1, reason: 'policy' }], () => jobs[0]!)
    expect(nowMs).toBe(7000)
    await executor.next(nowMs / 1000)
    expect(readFileSync(inFolder('scancel.calls'), 'utf8')).toBe('--full --signal=USR1 7\n'.repeat(4))
  })

  it('ends the others where one job cannot be ended, and tells of all that could not', async () => {
    play('sbatch', 0, `wc -l < ${inFolder('sbatch.calls')} | tr -d ' '`)
    const grant = { cpusPerGpu: 1, memoryGbPerGpu: 1 }
    const places = [0, 1, 2, 3].map((jobId) => {
      const place = { type: 'place', jobId, run: 1, placement: [{ server: 0, gpus: 1 }] } as const
      return { ...place, ...grant }
    })
    const open = async (name: string, more = {}) => {
      const executor = executorHere({ workDir: inFolder(name), ...more })
      await executor.apply(places, (id) => ({ ...jobs[0]!, id }))
      return executor
    }
    play('scancel', 0, 'case $1 in 1|3) echo "Access denied" >&2; exit 1;; esac')
    await expect((await open('work')).close()).rejects.toMatchObject({
      code: 'SLURM',
      message: expect.stringMatching(/^2 jobs could not be ended: scancel 1: Access denied; scancel 3: Access denied$/),
      cause: { errors: [{ code: 'SLURM' }, { code: 'SLURM' }] },
    })
    const cancelled = () => readFileSync(inFolder('scancel.calls'), 'utf8').trim().split('\n')
    expect(cancelled()).toEqual(['1', '2', '3', '4'])
    // Who is silent is silent for all: nobody waits for each of them.
    const waited: number[] = []
    const clock = {
      ...systemClock,
      now: () => waited.reduce((sum, ms) => sum + ms, 0),
      sleep: async (ms: number) => void waited.push(ms),
    }
    const silent = await open('silent', { clock, pollMs: 1000 })
    play('scancel', 999, '')
    await expect(silent.close()).rejects.toMatchObject({ code: 'SLURM_UNREACHABLE' })
    expect([new Set(cancelled().slice(4)), waited]).toEqual([new Set(['5']), [1000, 2000, 4000, 3000]])
  })

  it('leaves all as it is where Slurm takes no job for too long', async () => {
    play('sbatch', 99, '')
    const schedule = executeSchedule(rules, executorHere({ longestSilenceMs: 0 }))
    await expect(schedule).rejects.toMatchObject({ code: 'SLURM_UNREACHABLE' })
  })

  it('says so, and ends when it is told to', async () => {
    play('sbatch', 99, '')
    writeFileSync(inFolder('jobs.csv'), '7,image-small,0,1,2\n')
    const aborting = new AbortController()
    const words = ['--trace', inFolder('jobs.csv'), '--servers', '1', '--gpus-per-server', '4', '--nodes', 'node0']
    const { stderr } = await callCommand(
      'pctodl sensitivity',
      sensitivity,
      ['execute', ...words, '--work-dir', inFolder('work'), '--', 'true'],
      { signal: aborting.signal, onError: (text) => text.startsWith('Slurm') && aborting.abort(new Error('enough')) },
    )
    expect(stderr).toMatch(/^Slurm does not answer, next try in 1 s: sbatch .*Unable to contact/m)
    expect(stderr).toMatch(/interrupted\n$/)
  })

  it('ends at once where a job is of no known model, and gives the folder back', async () => {
    writeFileSync(inFolder('jobs.csv'), '7,nobody-knows,0,1,2\n')
    const words = ['--trace', inFolder('jobs.csv'), '--servers', '1', '--gpus-per-server', '4', '--nodes', 'node0']
    const startedMs = performance.now()
    for (let call = 0; call < 2; call++) {
      const { code, stderr } = await callCommand(
        'pctodl sensitivity',
        sensitivity,
        ['execute', ...words, '--work-dir', inFolder('work'), '--', 'true'],
        {},
      )
      expect([code, stderr]).toEqual([1, expect.stringMatching(/unknown model 'nobody-knows'/)])
      expect(readdirSync(inFolder('work')).filter((name) => name.startsWith('lock'))).toEqual([])
    }
    expect(performance.now() - startedMs).toBeLessThan(4000)
  })

  it('does not look at nodes without a pause', () => {
    expect(() => executorHere({ nodePollMs: 0 })).toThrow(/nodePollMs: got 0, expected milliseconds of at least 1/)
  })
})

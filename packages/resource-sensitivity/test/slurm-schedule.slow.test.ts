import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '@pctodl/platform'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { OneNodeSlurm, slurmHindrance } from '../../job-array/test/one-node-slurm.js'
import type { ScheduleAction } from '../src/engine/actions.js'
import type { SlurmRun } from '../src/execute/slurm-schedule-executor.js'
import { type EngineEvent, type Job, ScheduleEngine, simulate } from '../src/index.js'
import { executeSchedule, SlurmScheduleExecutor } from '../src/node.js'
import { cluster, hardware, pacedJobs, profiles, wattRules } from './one-node-schedule.js'

const hindrance = slurmHindrance()
const job = (id: number, model: string, gpus: number, seconds: number, arrivalS = 0): Job => ({
  ...{ id, model, gpus, arrivalS },
  iterations: seconds * 100,
})

describe.skipIf(hindrance)(`a schedule on a real Slurm${hindrance ? ` (skipped: ${hindrance})` : ''}`, () => {
  const slurm = new OneNodeSlurm(hardware)
  const environment = { SLURM_CONF: process.env['SLURM_CONF'] }
  const rules = { cluster, profiles, policy: 'fifo', mechanism: 'tune', roundS: 5 } as const
  let folder: string

  beforeAll(async () => {
    await slurm.up()
    process.env['SLURM_CONF'] = slurm.configurationFile
  })
  afterAll(async () => {
    await slurm.down()
    if (environment.SLURM_CONF === undefined) delete process.env['SLURM_CONF']
    else process.env['SLURM_CONF'] = environment.SLURM_CONF
  })
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'slurm-schedule-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  it('does what the simulation does: the same places, preempted where the server drains and gone on from the checkpoint', async () => {
    // Job 0 has all four GPUs until the server drains, and goes on when it is back; then comes job 1.
    const jobs = [job(0, 'modest', 4, 20), job(1, 'hungry', 1, 1, 3)]
    const incidents = [
      { atS: 8, event: { type: 'server-draining', server: 0 } as const },
      { atS: 14, event: { type: 'server-returned', server: 0 } as const },
    ]
    const options = { ...rules, jobs, incidents, resizeCostS: 1 }
    const simulated: ScheduleAction[] = []
    simulate({ ...options, onActions: (_, actions) => simulated.push(...actions) })
    const executed: ScheduleAction[] = []
    const journal: [number, readonly EngineEvent[]][] = []
    const runs: SlurmRun[] = []
    const result = await executeSchedule(
      {
        ...options,
        onActions: (_, actions) => executed.push(...actions),
        onEvents: (timeS, events) => journal.push([timeS, events]),
      },
      new SlurmScheduleExecutor({ ...pacedJobs(folder), onRun: (run) => runs.push(run) }),
    )
    expect(executed).toEqual(simulated)
    expect(executed.map(({ type, jobId, run }) => `${type} ${jobId}.${run}`)).toEqual([
      'place 0.1',
      'preempt 0.1',
      'place 0.2',
      'place 1.1',
    ])
    expect(result.map(({ outcome, runs: starts }) => [outcome, starts])).toEqual([
      ['finished', 2],
      ['finished', 1],
    ])
    expect(runs.map(({ jobId, run, cpus }) => [jobId, run, cpus.asked])).toEqual([
      [0, 1, 4],
      [0, 2, 4],
      [1, 1, 8],
    ])
    // What it had done when it was told to stop was saved, and the engine knows.
    const saved = journal.flatMap(([, events]) => events).filter((event) => event.type === 'progressed' && event.saved)
    expect(saved).toMatchObject([{ jobId: 0, doneIterations: expect.toSatisfy((n) => n > 0 && n < 2000) }])
    // The journal is the engine's state: played again it gives the same actions.
    const again = new ScheduleEngine(options)
    expect(journal.flatMap(([timeS, events]) => again.plan(timeS, events))).toEqual(executed)
  })

  it('keeps a budget of watts: limits fall, the last leaves, all comes back', async () => {
    const jobs = [job(0, 'watts', 1, 9), job(1, 'watts', 1, 7)]
    const incidents = [
      [4, 400],
      [8, 250],
      [11, 1000],
    ].map(([atS, powerBudgetW]) => ({ atS: atS!, event: { type: 'budget', powerBudgetW: powerBudgetW! } as const }))
    const options = { ...wattRules, jobs, incidents, restartCostS: 1 }
    const said = (list: string[]) => (_: number, actions: readonly ScheduleAction[]) => {
      for (const { type, jobId, run, ...more } of actions) {
        const watts = 'powerLimitsW' in more ? `${more.powerLimitsW!.join()} W` : 'reason' in more ? more.reason : ''
        list.push(`${type} ${jobId}.${run} ${watts}`)
      }
    }
    const [simulated, executed, limits] = [[] as string[], [] as string[], [] as string[]]
    simulate({ ...options, stopS: 0.1, onActions: said(simulated) })
    const executor = new SlurmScheduleExecutor({
      ...pacedJobs(folder),
      limitPower: async ({ jobId, run, powerLimitW }) => {
        limits.push(`${jobId}.${run} ${powerLimitW} W`)
        writeFileSync(path.join(folder, 'work', 'checkpoint', `${jobId}.json.${run}.limit`), String(powerLimitW))
      },
    })
    const result = await executeSchedule({ ...options, onActions: said(executed) }, executor)
    expect(result.map(({ outcome, runs }) => [outcome, runs])).toEqual([
      ['finished', 1],
      ['finished', 2],
    ])
    expect(executed).toEqual(simulated)
    expect(limits.slice(0, 2)).toEqual(['0.1 150 W', '1.1 150 W'])
    expect(executed).toContain('preempt 1.1 budget')
  })

  it('lets a job that failed go on, gives one up that fails again and again, and says how it ended', async () => {
    const paced = pacedJobs(folder)
    const crash = 'console.error("no luck"); process.exit(3)'
    const executor = new SlurmScheduleExecutor({
      ...paced,
      maxFailures: 1,
      commandOf: (each) => (each.id === 0 ? [process.execPath, '-e', crash] : paced.commandOf(each)),
    })
    const result = await executeSchedule({ ...rules, jobs: [job(0, 'modest', 1, 1), job(1, 'modest', 1, 1)] }, executor)
    expect(result.map(({ outcome, runs }) => [outcome, runs])).toEqual([
      ['cancelled', 2],
      ['finished', 1],
    ])
    expect([...executor.givenUp]).toMatchObject([[0, { exitCode: 3, logFile: expect.stringContaining('0.2') }]])
  })

  it.each(['DRAIN', 'DOWN'])(
    'takes jobs off a node of state %s, and goes on where they were when it is back',
    async (state) => {
      const paced = pacedJobs(folder)
      const update = (...words: string[]) =>
        execFileSync('scontrol', ['update', `NodeName=${paced.nodes[0]}`, ...words], {
          encoding: 'utf8',
          stdio: 'pipe',
        })
      /** A node that is down comes back by itself when it answers, and then there is nothing to resume. */
      const resume = () => {
        try {
          update('State=RESUME')
        } catch (error) {
          if (state !== 'DOWN' || !/Invalid node state/.test(String(error))) throw error
        }
      }
      // The first run works until it must leave, however late the node's state is seen.
      const save = `trap 'echo "{\\"doneIterations\\": 300}" > $PCTODL_CHECKPOINT; exit 85' USR1`
      const script = `[ $PCTODL_RUN = 1 ] && { ${save}; while :; do sleep 0.05; done; }; exec "$@"`
      const told: string[] = []
      const executor = new SlurmScheduleExecutor({
        ...{ ...paced, nodePollMs: 200 },
        commandOf: (each) => ['sh', '-c', script, 'sh', ...paced.commandOf(each)],
        onRun: ({ run }) => run === 1 && update(`State=${state}`, 'Reason=test'),
        onNode: ({ isUsable }) => told.push(isUsable ? 'node back' : 'node away'),
      })
      const result = await executeSchedule(
        {
          ...{ ...rules, jobs: [job(0, 'modest', 1, 4)] },
          onActions: (_, actions) => {
            for (const action of actions) told.push('reason' in action ? `preempt: ${action.reason}` : action.type)
          },
          onEvents: (_, events) => {
            if (events.some(({ type }) => type === 'server-failed' || type === 'server-draining')) resume()
          },
        },
        executor,
      )
      expect(result).toMatchObject([{ outcome: 'finished', runs: 2 }])
      // Slurm itself ends what runs on a node that is down, which may be back before anybody has looked.
      if (state === 'DRAIN')
        expect(told).toEqual(['place', 'node away', 'preempt: server-draining', 'node back', 'place'])
    },
  )

  it('gives up a job that leaves unasked and has done nothing, again and again', async () => {
    const leaver = { ...pacedJobs(folder), maxFailures: 1, commandOf: () => ['sh', '-c', 'exit 85'] as const }
    const executor = new SlurmScheduleExecutor(leaver)
    const result = await executeSchedule({ ...rules, jobs: [job(0, 'modest', 1, 1)] }, executor)
    expect(result).toMatchObject([{ outcome: 'cancelled', runs: 2 }])
    expect([...executor.givenUp]).toMatchObject([[0, { exitCode: 85 }]])
  })

  it('says at once what Slurm refuses: there is no end to wait for', async () => {
    const slept: number[] = []
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => {
        slept.push(ms)
        return systemClock.sleep(ms, signal)
      },
    }
    const executor = new SlurmScheduleExecutor({ ...pacedJobs(folder), partition: 'nowhere', clock })
    const running = executeSchedule({ ...rules, jobs: [job(0, 'modest', 1, 1)] }, executor)
    await expect(running).rejects.toThrow(/sbatch .*invalid partition/s)
    expect(slept).toEqual([])
  })

  it('kills who does not leave in time, who then begins anew, and ends all that runs when aborted', async () => {
    const deaf = "process.on('SIGUSR1', () => {}); setInterval(() => {}, 1000)"
    const paced = pacedJobs(folder)
    const aborting = new AbortController()
    const told: string[] = []
    const executor = new SlurmScheduleExecutor({ ...paced, graceS: 1, commandOf: () => [process.execPath, '-e', deaf] })
    const running = executeSchedule(
      {
        ...{ ...rules, jobs: [job(0, 'modest', 4, 3600)], signal: aborting.signal },
        incidents: [
          { atS: 3, event: { type: 'server-draining', server: 0 } },
          { atS: 4, event: { type: 'server-returned', server: 0 } },
        ],
        onEvents: (_, events) => {
          for (const event of events)
            if (event.type === 'progressed') told.push(`${event.saved} ${event.doneIterations}`)
          // Its first run began, was killed with nothing saved, and its second began.
          if (told.length === 3) aborting.abort(new Error('enough'))
        },
      },
      executor,
    )
    await expect(running).rejects.toThrow('enough')
    expect(told).toEqual(['undefined 0', 'true 0', 'undefined 0'])
  })
})

describe('a paced job', () => {
  it('outlives a limit that is read before it is written', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'paced-job-'))
    const [program, ...args] = pacedJobs(folder).commandOf(job(0, 'watts', 1, 1))
    const checkpoint = path.join(folder, 'checkpoint')
    const limit = `${checkpoint}.1.limit`
    // What is read of a file between its truncation and its text.
    writeFileSync(limit, '')
    const env = { PCTODL_CHECKPOINT: checkpoint, PCTODL_ITERATIONS: '40', PCTODL_RUN: '1', PCTODL_POWER_LIMIT_W: '150' }
    const child = spawn(program, args, { env: { ...env, PCTODL_GPUS: '1', PCTODL_CPUS: '1' }, stdio: 'inherit' })
    const ended = once(child, 'exit')
    await systemClock.sleep(200)
    writeFileSync(limit, '300')
    try {
      expect(await Promise.race([ended, systemClock.sleep(20_000)])).toEqual([0, null])
    } finally {
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true })
    }
  })
})

describe('what Slurm cannot be asked for', () => {
  it('is said before anything runs', () => {
    const options = { workDir: mkdtempSync(path.join(tmpdir(), 'slurm-schedule-')), commandOf: () => ['true'] as const }
    expect(() => new SlurmScheduleExecutor({ ...options, nodes: [] })).toThrow(/nodes: got 'none'/)
    expect(() => new SlurmScheduleExecutor({ ...options, nodes: ['a', 'a'] })).toThrow(/one unique name per server/)
    expect(() => new SlurmScheduleExecutor({ ...options, nodes: ['a'], graceS: -1 })).toThrow(/graceS: got -1/)
    expect(() => new SlurmScheduleExecutor({ ...options, nodes: ['a'], maxFailures: 0.5 })).toThrow(/maxFailures/)
    rmSync(options.workDir, { recursive: true })
  })
})

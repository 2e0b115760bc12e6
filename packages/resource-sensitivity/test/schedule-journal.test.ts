import {
  appendFileSync,
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
import { SeededRandom } from '@pctodl/numerics'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ScheduleAction } from '../src/engine/actions.js'
import type { ScheduleExecutor } from '../src/execute/execute-schedule.js'
import type { JournalEntry } from '../src/execute/schedule-journal.js'
import { type EngineEvent, generateTrace, type Job } from '../src/index.js'
import { exampleProfiles } from '../src/job-profile.js'
import { executeSchedule, requestOfSchedule } from '../src/node.js'
import { PlayedExecutor } from './played-executor.js'

class Killed extends Error {}

/** What outlives the process of a scheduler: a world in which actions are carried out once, and all that was told and not noted is told again. */
class LastingWorld {
  readonly played = new PlayedExecutor(exampleProfiles, () => 0)
  /** Told, and perhaps not noted. */
  readonly told: EngineEvent[] = []
  readonly done = new Set<string>()
  readonly actions: ScheduleAction[] = []
}

/** An executor whose process is killed after so many calls, in the middle of carrying out a plan too. */
class MortalExecutor implements ScheduleExecutor {
  readonly changesLimits = false
  readonly awaitsServers = false
  #facts = 0
  #callsLeft: number
  readonly world: LastingWorld

  constructor(world: LastingWorld, callsLeft: number) {
    this.world = world
    this.#callsLeft = callsLeft
  }

  nowS(): number {
    return this.world.played.nowS()
  }

  async apply(actions: readonly ScheduleAction[], jobOf: (jobId: number) => Job): Promise<void> {
    for (const action of actions) {
      this.#live()
      const { type, jobId, run } = action
      const key = type === 'resize' ? JSON.stringify([action, this.world.actions.length]) : `${type} ${jobId}.${run}`
      if (this.world.done.has(key)) continue
      this.world.done.add(key)
      this.world.actions.push(action)
      await this.world.played.apply([action], jobOf)
    }
  }

  async next(untilS: number): Promise<readonly EngineEvent[]> {
    this.#live()
    if (this.world.told.length === 0) this.world.told.push(...(await this.world.played.next(untilS)))
    this.#live()
    this.#facts = this.world.told.length
    return [...this.world.told]
  }

  takeFacts(): readonly unknown[] {
    return this.world.told.splice(0, this.#facts).map(({ type }) => type)
  }

  async resume({ entries }: { entries: readonly JournalEntry[] }, jobOf: (jobId: number) => Job): Promise<void> {
    await this.apply(entries.at(-1)?.actions ?? [], jobOf)
  }

  async close(): Promise<readonly EngineEvent[]> {
    return []
  }

  #live(): void {
    if (--this.#callsLeft < 0) throw new Killed()
  }
}

describe('a schedule that is killed', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'schedule-journal-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const cluster = { servers: [{ count: 1, gpus: 4, cpus: 16, memoryGb: 250, storageMBps: 500 }] }
  const jobs = generateTrace({
    ...{ jobs: 12, jobsPerHour: 6, profiles: exampleProfiles, seed: 8, durations: 'short' },
  }).map((job) => ({ ...job, gpus: [1, 2, 4][job.id % 3]! }))
  /** Short, because requests are looked for twice a second. */
  const brief = jobs.map((job) => ({
    ...job,
    arrivalS: job.arrivalS / 200,
    iterations: Math.ceil(job.iterations / 200),
  }))
  // Without resizes an action is told from others by its run.
  const rules = { cluster, profiles: exampleProfiles, jobs, policy: 'srtf', mechanism: 'fair' } as const

  it('goes on as if nothing had happened, wherever it is killed: the same actions, the same ends', async () => {
    const whole = new LastingWorld()
    const expected = await executeSchedule(rules, new MortalExecutor(whole, 1e9))
    expect(whole.actions.some(({ type }) => type === 'preempt')).toBe(true)
    const random = new SeededRandom(5)
    for (let trial = 0; trial < 5; trial++) {
      const world = new LastingWorld()
      const journal = path.join(folder, `${trial}.jsonl`)
      for (let life = 0; ; life++) {
        if (life > 400) throw new Error(`no end after ${life} lives, ${world.actions.length} actions`)
        const mortal = new MortalExecutor(world, Math.floor(60 * random.uniform()) + (trial % 3))
        try {
          expect(await executeSchedule({ ...rules, journal }, mortal)).toEqual(expected)
          break
        } catch (error) {
          if (!(error instanceof Killed)) throw error
          // A line that was being written.
          if (random.uniform() < 0.3) appendFileSync(journal, '{"timeS":12,"eve')
        }
      }
      expect(world.actions).toEqual(whole.actions)
    }
  })

  it('answers from the journal alone when all is over, and takes no other schedule for its own', async () => {
    const world = new LastingWorld()
    const journal = path.join(folder, 'journal.jsonl')
    const first = await executeSchedule({ ...rules, journal }, new MortalExecutor(world, 1e9))
    const text = readFileSync(journal, 'utf8')
    expect(await executeSchedule({ ...rules, journal }, new MortalExecutor(world, 1e9))).toEqual(first)
    expect(readFileSync(journal, 'utf8')).toBe(text)
    const other = executeSchedule({ ...rules, policy: 'fifo', journal }, new MortalExecutor(world, 1e9))
    await expect(other).rejects.toThrow(/got 'the journal of another schedule', expected the same jobs/)
    appendFileSync(journal, '{"timeS":1}\n')
    await expect(executeSchedule({ ...rules, journal }, new MortalExecutor(world, 1e9))).rejects.toMatchObject({
      code: 'JOURNAL',
    })
  })

  it('takes jobs and cancellations while it runs, each once wherever it is killed, and refuses what cannot be', async () => {
    const random = new SeededRandom(9)
    const requests = path.join(folder, 'requests')
    mkdirSync(requests, { mode: 0o700 })
    const world = new LastingWorld()
    const refused: string[] = []
    const execution = {
      ...{ ...rules, roundS: 5, jobs: brief, journal: path.join(folder, 'journal.jsonl'), requests },
      onRefused: (_: string, { message }: Error) => refused.push(message),
    }
    const more = { id: 100, model: exampleProfiles[0]!.model, iterations: 50, gpus: 2 }
    requestOfSchedule(requests, { submit: [more] })
    requestOfSchedule(requests, { submit: [{ ...more, id: 101, model: 'nobody' }] })
    requestOfSchedule(requests, { submit: [{ ...more, id: 102, gpus: 5 }] })
    requestOfSchedule(requests, { submit: [{ ...more, gpus: 1 }] })
    // Two jobs of one id in one request.
    requestOfSchedule(requests, { submit: [103, 103].map((id, i) => ({ ...more, id, gpus: 1 + i })) })
    requestOfSchedule(requests, { cancel: [999] })
    writeFileSync(path.join(requests, 'a.json'), '{"submit":')
    symlinkSync('/etc/passwd', path.join(requests, 'b.json'))
    let cancelled = false
    for (let life = 0; ; life++) {
      if (life > 100) throw new Error('no end')
      try {
        const executed = await executeSchedule(
          execution,
          new MortalExecutor(world, 20 + Math.floor(300 * random.uniform())),
        )
        expect(executed).toHaveLength(jobs.length + 1)
        const added = executed.find(({ job }) => job.id === 100)!
        expect(added.outcome).toBe('finished')
        expect(added.completionS).toBeGreaterThan(0)
        expect(executed.filter(({ outcome }) => outcome === 'cancelled').map(({ job }) => job.id)).toEqual([0])
        break
      } catch (error) {
        if (!(error instanceof Killed)) throw error
        if (!cancelled && world.actions.some(({ jobId }) => jobId === 0)) {
          cancelled = true
          requestOfSchedule(requests, { cancel: [0] })
        }
      }
    }
    expect(readdirSync(requests)).toEqual([])
    for (const pattern of [
      /nobody/,
      /can never run/,
      /job 100', expected an id that no other job has/,
      /job 103', expected an id that no other job has/,
      /job 999/,
      /a.json/,
      /b.json is a symbolic link/,
    ]) {
      expect(
        refused.some((message) => pattern.test(message)),
        String(pattern),
      ).toBe(true)
    }
    const journal = readFileSync(execution.journal, 'utf8')
    expect(journal.match(/"type":"submitted","job":\{"id":100,/g)).toHaveLength(1)
    expect(() => requestOfSchedule(path.join(folder, 'nowhere'), { cancel: [1] })).toThrow(/nowhere: got 'nothing'/)
  })

  it('loses no job that arrives while its runs are ended', async () => {
    const two = [0, 10].map((arrivalS, id) => ({ ...jobs[0]!, id, arrivalS, gpus: 1 }))
    const journal = path.join(folder, 'journal.jsonl')
    const placed = new Set<number>()
    const executorAt = (startS: number, isInterrupted: boolean): ScheduleExecutor => {
      let nowS = startS
      return {
        ...{ changesLimits: false, awaitsServers: false },
        nowS: () => nowS,
        apply: async (actions) => {
          for (const { jobId } of actions) placed.add(jobId)
        },
        next: async (untilS) => {
          if (isInterrupted && placed.size > 0) throw new Killed()
          nowS = Math.min(nowS + 1, untilS)
          return isInterrupted ? [] : [...placed].map((jobId) => ({ type: 'finished', jobId }))
        },
        takeFacts: () => [],
        resume: async ({ entries }) => {
          for (const { jobId } of entries.at(-1)?.actions ?? []) placed.add(jobId)
        },
        // Ending the run takes so long that the second job arrives meanwhile.
        close: async () => {
          nowS = 11
          return isInterrupted && placed.delete(0) ? [{ type: 'stopped', jobId: 0, doneIterations: 0 }] : []
        },
      }
    }
    const execution = { ...rules, jobs: two, journal }
    await expect(executeSchedule(execution, executorAt(9, true))).rejects.toThrow(Killed)
    const ended = await executeSchedule(execution, executorAt(12, false))
    expect(ended.map(({ job, outcome }) => [job.id, outcome])).toEqual([
      [0, 'finished'],
      [1, 'finished'],
    ])
  })

  it('takes a request that comes as the last job ends, and one that comes after', async () => {
    const requests = path.join(folder, 'requests')
    mkdirSync(requests, { mode: 0o700 })
    const execution = { ...rules, jobs: brief.slice(0, 1), journal: path.join(folder, 'journal.jsonl'), requests }
    const world = new LastingWorld()
    const more = (id: number) => ({ submit: [{ id, model: jobs[0]!.model, iterations: 50, gpus: 1 }] })
    const first = await executeSchedule(
      {
        ...execution,
        onEvents: (_, events) => {
          if (events.some((event) => event.type === 'finished' && event.jobId === jobs[0]!.id)) {
            requestOfSchedule(requests, more(100))
          }
        },
      },
      new MortalExecutor(world, 1e9),
    )
    expect(first.map(({ job }) => job.id)).toEqual([jobs[0]!.id, 100])
    requestOfSchedule(requests, more(101))
    const second = await executeSchedule(execution, new MortalExecutor(world, 1e9))
    expect(second.map(({ job, outcome }) => [job.id, outcome])).toEqual(
      [jobs[0]!.id, 100, 101].map((id) => [id, 'finished']),
    )
    expect(readdirSync(requests)).toEqual([])
  })

  it('takes a submission before its cancellation, in whichever order their names stand', async () => {
    const requests = path.join(folder, 'requests')
    mkdirSync(requests, { mode: 0o700 })
    const job = { id: 100, model: jobs[0]!.model, iterations: 50, gpus: 1 }
    // A clock that was set back in between.
    writeFileSync(path.join(requests, '2.json'), JSON.stringify({ submit: [job] }), { mode: 0o600 })
    writeFileSync(path.join(requests, '1.json'), JSON.stringify({ cancel: [100] }), { mode: 0o600 })
    const refused: string[] = []
    const executed = await executeSchedule(
      { ...rules, jobs: brief.slice(0, 1), requests, onRefused: (_, { message }) => refused.push(message) },
      new MortalExecutor(new LastingWorld(), 1e9),
    )
    expect(refused).toEqual([])
    expect(executed.find((each) => each.job.id === 100)!.outcome).toBe('cancelled')
  })

  it('refuses ids that are no integers, because they name files', async () => {
    const requests = path.join(folder, 'requests')
    mkdirSync(requests, { mode: 0o700 })
    for (const id of [1.5, -1]) {
      requestOfSchedule(requests, { submit: [{ id, model: jobs[0]!.model, iterations: 50, gpus: 1 }] })
    }
    const refused: string[] = []
    const execution = {
      ...rules,
      jobs: brief,
      requests,
      onRefused: (_: string, { message }: Error) => refused.push(message),
    }
    expect(await executeSchedule(execution, new MortalExecutor(new LastingWorld(), 1e9))).toHaveLength(jobs.length)
    expect(refused).toEqual([expect.stringContaining('submit.0.id'), expect.stringContaining('submit.0.id')])
  })

  it('ends where another program has changed the journal, instead of adding to what nobody could read', async () => {
    for (const change of ['', '{"timeS":1}\n']) {
      const journal = path.join(folder, `${change.length}.jsonl`)
      let plans = 0
      const execution = {
        ...{ ...rules, journal },
        onEvents: () => {
          if (++plans === 3) writeFileSync(journal, change)
        },
      }
      const executed = executeSchedule(execution, new MortalExecutor(new LastingWorld(), 1e9))
      await expect(executed).rejects.toMatchObject({ code: 'JOURNAL' })
      expect(readFileSync(journal, 'utf8')).toBe(change)
    }
  })

  it('goes on under a budget that was lifted: no limit has a place in the journal', async () => {
    const profiles = exampleProfiles.map((profile) => ({
      ...profile,
      gpus: [{ gpuType: 'big', powerLimitW: 300, throughput: profile.throughput, dynamicPowerW: 250 }],
    }))
    const typed = { servers: [{ ...cluster.servers[0]!, gpuType: 'big', idlePowerW: 25 }] }
    const journal = path.join(folder, 'journal.jsonl')
    const incidents = [{ atS: 1, event: { type: 'budget', powerBudgetW: Number.POSITIVE_INFINITY } as const }]
    const execution = { ...rules, cluster: typed, profiles, incidents, powerBudgetW: 1000, journal }
    const world = new LastingWorld()
    await expect(executeSchedule(execution, new MortalExecutor(world, 12))).rejects.toThrow(Killed)
    expect(readFileSync(journal, 'utf8')).toContain('"budget"')
    expect(await executeSchedule(execution, new MortalExecutor(world, 1e9))).toHaveLength(jobs.length)
  })

  it("writes through no link, and nothing where the journal is somebody else's", async () => {
    const journal = path.join(folder, 'journal.jsonl')
    symlinkSync(path.join(folder, 'elsewhere'), journal)
    const executed = executeSchedule({ ...rules, journal }, new MortalExecutor(new LastingWorld(), 1e9))
    await expect(executed).rejects.toThrow(/symbolic link/)
    expect(existsSync(path.join(folder, 'elsewhere'))).toBe(false)
  })
})

import type { ScheduleAction } from '../src/engine/actions.js'
import type { ScheduleExecutor } from '../src/execute/execute-schedule.js'
import type { EngineEvent, Job } from '../src/index.js'
import { type JobProfile, throughputAt } from '../src/job-profile.js'

interface Run {
  readonly job: Job
  readonly run: number
  readonly rate: number
  startsAtS: number
  started: boolean
}

/** What a cluster does with the actions of an engine where each start takes as long as it is told, in virtual time; runs save and leave at once. */
export class PlayedExecutor implements ScheduleExecutor {
  readonly #profiles: ReadonlyMap<string, JobProfile>
  readonly #startUpS: (jobId: number, start: number) => number
  readonly #runs = new Map<number, Run>()
  readonly #done = new Map<number, number>()
  readonly #starts = new Map<number, number>()
  readonly #said: EngineEvent[] = []
  readonly changesLimits = false
  readonly awaitsServers = false
  #nowS = 0

  /** @param startUpS of the nth start of a job, from 1; a resize is one, too */
  constructor(profiles: readonly JobProfile[], startUpS: (jobId: number, start: number) => number) {
    this.#profiles = new Map(profiles.map((profile) => [profile.model, profile]))
    this.#startUpS = startUpS
  }

  nowS(): number {
    return this.#nowS
  }

  takeFacts(): readonly unknown[] {
    return []
  }

  async resume(): Promise<void> {}

  async apply(actions: readonly ScheduleAction[], jobOf: (jobId: number) => Job): Promise<void> {
    for (const action of actions) if (action.type !== 'place') this.#stop(action.jobId)
    for (const action of actions) {
      if (action.type === 'preempt') continue
      const job = jobOf(action.jobId)
      const profile = this.#profiles.get(job.model)!
      const start = (this.#starts.get(job.id) ?? 0) + 1
      this.#starts.set(job.id, start)
      this.#runs.set(job.id, {
        ...{ job, run: action.run, started: false },
        rate: throughputAt(profile, action.cpusPerGpu, action.memoryGbPerGpu) / profile.iterationS,
        startsAtS: this.#nowS + this.#startUpS(job.id, start),
      })
    }
  }

  async next(untilS: number): Promise<readonly EngineEvent[]> {
    if (this.#said.length > 0) return this.#said.splice(0)
    const nextAtS = ({ job, rate, startsAtS, started }: Run) =>
      started ? startsAtS + (job.iterations - this.#doneOf(job)) / rate : startsAtS
    const [first] = [...this.#runs.values()].sort((a, b) => nextAtS(a) - nextAtS(b))
    if (first === undefined || nextAtS(first) > untilS) {
      this.#nowS = untilS
      return []
    }
    this.#nowS = nextAtS(first)
    const { id: jobId } = first.job
    if (!first.started) {
      first.started = true
      return [{ type: 'progressed', jobId, doneIterations: this.#doneOf(first.job) }]
    }
    this.#runs.delete(jobId)
    return [{ type: 'finished', jobId }]
  }

  async close(): Promise<readonly []> {
    return []
  }

  #stop(jobId: number): void {
    const stopped = this.#runs.get(jobId)
    if (stopped === undefined) return
    const { job, run, rate, startsAtS, started } = stopped
    this.#runs.delete(jobId)
    if (started) {
      const done = Math.min(job.iterations, this.#doneOf(job) + rate * (this.#nowS - startsAtS))
      this.#done.set(jobId, done)
      this.#said.push({ type: 'progressed', jobId, doneIterations: done, saved: true })
    }
    this.#said.push({ type: 'left', jobId, run })
  }

  #doneOf({ id }: Job): number {
    return this.#done.get(id) ?? 0
  }
}

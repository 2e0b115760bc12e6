import type { Grant, ScheduleAction } from '../src/engine/actions.js'
import { isSameGrant } from '../src/engine/actions.js'
import type { Seat } from '../src/engine/engine-job.js'

/** What one job holds, as the actions so far say. */
export interface Assignment extends Grant {
  /** Which start of the job this is, from 1. */
  readonly run: number
  readonly placement: readonly Seat[]
}

/**
 * Who holds what by the actions carried out so far: the state that an executor keeps. Carrying an action out twice, or one that
 * a later one has overtaken, changes nothing.
 */
export class Assignments {
  readonly #held = new Map<number, Assignment>()
  readonly #lastRun = new Map<number, number>()

  /** @returns whether the action changed anything */
  apply(action: ScheduleAction): boolean {
    const { jobId, run } = action
    const held = this.#held.get(jobId)
    if (action.type === 'preempt') return this.ended(jobId, run)
    if (action.type === 'resize') {
      if (held?.run !== run || isSameGrant(held, action)) return false
      this.#held.set(jobId, { ...held, ...grantOf(action) })
      return true
    }
    if (run <= (this.#lastRun.get(jobId) ?? 0)) return false
    this.#held.set(jobId, { run, placement: action.placement, ...grantOf(action) })
    this.#lastRun.set(jobId, run)
    return true
  }

  ended(jobId: number, run: number): boolean {
    return this.#held.get(jobId)?.run === run && this.#held.delete(jobId)
  }

  get(jobId: number): Assignment | undefined {
    return this.#held.get(jobId)
  }

  [Symbol.iterator](): IterableIterator<[jobId: number, assignment: Assignment]> {
    return this.#held.entries()
  }
}

function grantOf({ cpusPerGpu, memoryGbPerGpu, powerLimitsW }: Grant): Grant {
  return { cpusPerGpu, memoryGbPerGpu, ...(powerLimitsW && { powerLimitsW }) }
}

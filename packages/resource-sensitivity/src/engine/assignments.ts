import type { Seat } from './plan.js'
import type { Grant, ScheduleAction } from './schedule-action.js'

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
  /** The last run that was started of each job. */
  readonly #lastRun = new Map<number, number>()

  /** @returns whether the action changed anything */
  apply(action: ScheduleAction): boolean {
    const { jobId, run } = action
    const held = this.#held.get(jobId)
    const lastRun = this.#lastRun.get(jobId) ?? 0
    switch (action.type) {
      case 'place':
      case 'migrate': {
        if (run <= lastRun) return false
        const { placement, cpusPerGpu, memoryGbPerGpu, powerLimitsW } = action
        this.#held.set(jobId, { run, placement, cpusPerGpu, memoryGbPerGpu, ...(powerLimitsW && { powerLimitsW }) })
        this.#lastRun.set(jobId, run)
        return true
      }
      case 'resize': {
        if (held?.run !== run || isSameGrant(held, action)) return false
        const { cpusPerGpu, memoryGbPerGpu, powerLimitsW } = action
        this.#held.set(jobId, { ...held, cpusPerGpu, memoryGbPerGpu, ...(powerLimitsW && { powerLimitsW }) })
        return true
      }
      case 'preempt':
        if (held?.run !== run) return false
        return this.#held.delete(jobId)
    }
  }

  /** A run ended by itself: what it held is free. */
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

export function isSameGrant(a: Grant, b: Grant): boolean {
  return (
    a.cpusPerGpu === b.cpusPerGpu &&
    a.memoryGbPerGpu === b.memoryGbPerGpu &&
    a.powerLimitsW?.join() === b.powerLimitsW?.join()
  )
}

export function isSamePlacement(a: readonly Seat[], b: readonly Seat[]): boolean {
  return a.length === b.length && a.every(({ server, gpus }, i) => server === b[i]!.server && gpus === b[i]!.gpus)
}

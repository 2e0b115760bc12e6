import { lowestFeasibleCap, partition } from '@pctodl/greedy-partition'
import type { PerfModel } from '@pctodl/perf-model'
import { type Interval, intervalsOf } from './plan-answer.js'
import { type PlanQuestion, searchOptions } from './plan-question.js'

/** The best plan under one cap of a sweep. */
export interface SweepPoint {
  readonly powerCapW: number
  /** Samples/s. */
  readonly throughput: number
  readonly throughputInterval: Interval
  readonly powerW: number
  readonly powerIntervalW: Interval
  readonly smClockMhz: number
  readonly memClockMhz: number
  readonly tenants: number
}

const CAPS = 40

/**
 * Returns the caps of a sweep: whole watts from the lowest feasible cap to the board's highest limit. Empty if no cap
 * is feasible.
 */
export function sweepCaps(model: PerfModel, question: PlanQuestion): number[] {
  const { powerCapW: _, ...options } = searchOptions(question)
  const lowest = lowestFeasibleCap(model, options)
  if (lowest === null) return []
  const [from, to] = [Math.ceil(lowest), model.spec.powerLimitW.max]
  const caps = Array.from({ length: CAPS }, (_, i) => Math.round(from + ((to - from) * i) / (CAPS - 1)))
  return [...new Set(caps)]
}

/** Returns the best plan under one cap; undefined if the cap is infeasible. */
export function sweepPoint(model: PerfModel, question: PlanQuestion, powerCapW: number): SweepPoint | undefined {
  const result = partition(model, searchOptions({ ...question, powerCapW }))
  if (!result.feasible) return undefined
  const { configuration, prediction } = result
  return {
    powerCapW,
    throughput: prediction.throughput,
    powerW: prediction.powerW,
    ...intervalsOf(model, configuration),
    smClockMhz: configuration.smClockMhz,
    memClockMhz: configuration.memClockMhz,
    tenants: configuration.tenants.length,
  }
}

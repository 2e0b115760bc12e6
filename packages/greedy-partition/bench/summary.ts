import type { PartitionResult } from '../src/index.js'

export interface Timed<T> {
  readonly result: T
  readonly ms: number
}

export function timed<T>(run: () => T): Timed<T> {
  const startMs = performance.now()
  const result = run()
  return { result, ms: performance.now() - startMs }
}

/** The shortest time of several runs, because other work on the machine only adds time. */
export function timedMin<T>(runs: number, run: () => T): Timed<T> {
  return Array.from({ length: runs }, () => timed(run)).reduce((a, b) => (b.ms < a.ms ? b : a))
}

export function scoreOf(result: PartitionResult): number {
  return result.feasible ? result.weightedThroughput : 0
}

/** Percentage by which `found` is below `best`. */
export function gapPercent(found: number, best: number): number {
  return best === 0 ? 0 : 100 * (1 - found / best)
}

/** One line: median, 90th percentile and largest of some values. */
export function printSummary(name: string, values: readonly number[], unit: string, digits: number): void {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!.toFixed(digits)
  console.log(
    `${name}: ${sorted.length} cases, median ${at(0.5)}, 90th percentile ${at(0.9)}, largest ${at(1)} ${unit}`,
  )
}

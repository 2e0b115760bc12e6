import { type Colocation, contains, throughputSum } from '../colocation.js'

/** Result of choosing co-runners for one workload by a score. */
export interface TargetGain {
  readonly target: string
  readonly candidates: number
  /** Measured sum of the chosen colocation over the best measured sum: 1 is the oracle's choice. */
  readonly gain: number
  /** Best measured sum minus that of the choice, samples/s. */
  readonly regretPerS: number
}

/**
 * For each workload, choose the colocation with the highest score among those that contain it. Workloads with fewer
 * than two candidates are left out, as in the published study.
 *
 * @param scoresOf scores in the order of the candidates; gets the whole list, because the published model scales by it
 */
export function targetGains(
  colocations: readonly Colocation[],
  scoresOf: (candidates: readonly Colocation[]) => readonly number[],
): TargetGain[] {
  const targets = new Set(colocations.flatMap(({ members }) => members.map(({ name }) => name)))
  return [...targets].flatMap((target) => {
    const candidates = colocations.filter(({ members }) => contains(members, target))
    if (candidates.length < 2) return []
    const sums = candidates.map(throughputSum)
    const best = Math.max(...sums)
    const chosen = sums[indexOfLargest(scoresOf(candidates))]!
    return [{ target, candidates: candidates.length, gain: chosen / best, regretPerS: best - chosen }]
  })
}

/** Index of the largest value; the first one among ties. */
function indexOfLargest(values: readonly number[]): number {
  let largest = 0
  values.forEach((value, i) => {
    if (value > values[largest]!) largest = i
  })
  return largest
}

import type { AllocationWeight } from '../optimal/allocation-problem.js'
import type { Resident } from './resident.js'

/** Partial choices kept at most, of which none is beaten by another: servers of eight jobs need some hundreds. */
const MOST_KEPT = 3000

const ROUNDING = 1e-9

interface Partial {
  readonly cpus: number
  readonly memoryGb: number
  readonly value: number
  readonly option: number
  readonly before: Partial | null
}

/**
 * The best way to share a server: job by job, all partial choices that no other beats in CPU, memory and throughput at once
 * (multiple-choice knapsack with two capacities, by dynamic programming over Pareto sets). Choices that could not reach
 * `worthMore` even if every other job got its fastest option are dropped.
 *
 * @returns null where nothing is worth more, or where there are too many partial choices to keep
 */
export function exactAllocation(
  residents: readonly Resident[],
  cpus: number,
  memoryGb: number,
  weight: AllocationWeight,
  worthMore: number,
): number[] | null {
  const weightOf = residents.map(({ gpus }) => (weight === 'gpu' ? gpus : 1))
  /** What the jobs from here on need at least, and can gain at most. */
  const needCpus = new Array<number>(residents.length + 1).fill(0)
  const needMemoryGb = new Array<number>(residents.length + 1).fill(0)
  const mostValue = new Array<number>(residents.length + 1).fill(0)
  for (let j = residents.length - 1; j >= 0; j--) {
    const { gpus, options } = residents[j]!
    needCpus[j] = needCpus[j + 1]! + gpus * Math.min(...options.map((option) => option.cpus))
    needMemoryGb[j] = needMemoryGb[j + 1]! + gpus * Math.min(...options.map((option) => option.memoryGb))
    mostValue[j] = mostValue[j + 1]! + weightOf[j]! * Math.max(...options.map((option) => option.throughput))
  }
  let kept: Partial[] = [{ cpus: 0, memoryGb: 0, value: 0, option: -1, before: null }]
  for (let j = 0; j < residents.length; j++) {
    const { gpus, options } = residents[j]!
    const next: Partial[] = []
    for (const before of kept) {
      for (let k = 0; k < options.length; k++) {
        const option = options[k]!
        const used = before.cpus + option.cpus * gpus
        const usedGb = before.memoryGb + option.memoryGb * gpus
        const value = before.value + option.throughput * weightOf[j]!
        if (used + needCpus[j + 1]! > cpus + ROUNDING || usedGb + needMemoryGb[j + 1]! > memoryGb + ROUNDING) continue
        if (value + mostValue[j + 1]! <= worthMore + ROUNDING) continue
        next.push({ cpus: used, memoryGb: usedGb, value, option: k, before })
      }
    }
    kept = unbeaten(next)
    if (kept.length === 0 || kept.length > MOST_KEPT) return null
  }
  let best: Partial | null = kept.reduce((most, other) => (other.value > most.value ? other : most))
  const choice = new Array<number>(residents.length)
  for (let j = residents.length - 1; j >= 0; j--) {
    choice[j] = best!.option
    best = best!.before
  }
  return choice
}

/** Those of which none has less CPU, less memory and more throughput. */
function unbeaten(partials: Partial[]): Partial[] {
  partials.sort((a, b) => b.value - a.value || a.cpus - b.cpus || a.memoryGb - b.memoryGb)
  const kept: Partial[] = []
  // Of what is kept so far: by rising CPU, the falling memory that suffices.
  const stairCpus: number[] = []
  const stairGb: number[] = []
  for (const partial of partials) {
    let low = 0
    let high = stairCpus.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (stairCpus[middle]! <= partial.cpus + ROUNDING) low = middle + 1
      else high = middle
    }
    if (low > 0 && stairGb[low - 1]! <= partial.memoryGb + ROUNDING) continue
    kept.push(partial)
    let until = low
    while (until < stairCpus.length && stairGb[until]! >= partial.memoryGb) until++
    stairCpus.splice(low, until - low, partial.cpus)
    stairGb.splice(low, until - low, partial.memoryGb)
  }
  return kept
}

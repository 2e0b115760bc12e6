import type { AllocationOption } from './allocation-options.js'

/** One job on a server: its number of GPUs there and its options. */
export interface Resident {
  readonly gpus: number
  readonly options: readonly AllocationOption[]
}

const ROUNDING = 1e-9

/**
 * Distributes a server's CPU and memory among its jobs. Each job starts with its first and cheapest option, which is as
 * fast as the fair share. The rest is given step by step to the job that gains the most throughput per cost. This
 * greedy result is a lower bound for an exact search, which is skipped if it would take too long.
 *
 * @returns the option index of each resident
 */
export function allocateServer(residents: readonly Resident[], cpus: number, memoryGb: number): number[] {
  const choice = new Array<number>(residents.length).fill(0)
  const free = { cpus, memoryGb }
  for (const { gpus, options } of residents) {
    free.cpus -= options[0]!.cpus * gpus
    free.memoryGb -= options[0]!.memoryGb * gpus
  }
  if (upgrade(residents, choice, free, 1 / cpus, 1 / memoryGb)) return choice
  return exactAllocation(residents, cpus, memoryGb, allocatedThroughput(residents, choice)) ?? choice
}

/** @returns whether every job now runs at its maximum speed */
function upgrade(
  residents: readonly Resident[],
  choice: number[],
  free: { cpus: number; memoryGb: number },
  cpuPrice: number,
  memoryPrice: number,
): boolean {
  for (;;) {
    let bestRate = 0
    let bestJob = -1
    let bestOption = -1
    let satisfied = true
    for (let j = 0; j < residents.length; j++) {
      const { gpus, options } = residents[j]!
      const current = options[choice[j]!]!
      for (let k = 0; k < options.length; k++) {
        const option = options[k]!
        const gain = option.throughput - current.throughput
        if (gain <= ROUNDING) continue
        satisfied = false
        const moreCpus = (option.cpus - current.cpus) * gpus
        const moreMemory = (option.memoryGb - current.memoryGb) * gpus
        if (moreCpus > free.cpus + ROUNDING || moreMemory > free.memoryGb + ROUNDING) continue
        const price = Math.max(moreCpus * cpuPrice + moreMemory * memoryPrice, ROUNDING)
        const rate = gain / price
        if (rate > bestRate) {
          bestRate = rate
          bestJob = j
          bestOption = k
        }
      }
    }
    if (bestJob < 0) return satisfied
    const { gpus, options } = residents[bestJob]!
    const [from, to] = [options[choice[bestJob]!]!, options[bestOption]!]
    free.cpus -= (to.cpus - from.cpus) * gpus
    free.memoryGb -= (to.memoryGb - from.memoryGb) * gpus
    choice[bestJob] = bestOption
  }
}

/** Sum of throughputs of a choice, per GPU of each job. */
export function allocatedThroughput(residents: readonly Resident[], choice: readonly number[]): number {
  return residents.reduce((sum, { options }, j) => sum + options[choice[j]!]!.throughput, 0)
}

/** Maximum number of non-dominated partial choices kept: servers of eight jobs need some hundreds. */
const MAX_KEPT = 3000

interface Partial {
  readonly cpus: number
  readonly memoryGb: number
  readonly value: number
  readonly option: number
  readonly before: Partial | null
}

/**
 * Finds the best allocation of a server. Job by job, it keeps all partial choices that are not dominated in CPU, memory
 * and throughput (a multiple-choice knapsack with two capacities, solved by dynamic programming over Pareto sets).
 * Choices that cannot reach `worthMore` even with the fastest option for all other jobs are dropped.
 *
 * @returns null if no allocation exceeds `worthMore`, or if there are too many partial choices
 */
export function exactAllocation(
  residents: readonly Resident[],
  cpus: number,
  memoryGb: number,
  worthMore: number,
): number[] | null {
  /** Minimum need and maximum gain of the jobs from here on. */
  const needCpus = new Array<number>(residents.length + 1).fill(0)
  const needMemoryGb = new Array<number>(residents.length + 1).fill(0)
  const maxValue = new Array<number>(residents.length + 1).fill(0)
  for (let j = residents.length - 1; j >= 0; j--) {
    const { gpus, options } = residents[j]!
    needCpus[j] = needCpus[j + 1]! + gpus * Math.min(...options.map((option) => option.cpus))
    needMemoryGb[j] = needMemoryGb[j + 1]! + gpus * Math.min(...options.map((option) => option.memoryGb))
    maxValue[j] = maxValue[j + 1]! + Math.max(...options.map((option) => option.throughput))
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
        const value = before.value + option.throughput
        if (used + needCpus[j + 1]! > cpus + ROUNDING || usedGb + needMemoryGb[j + 1]! > memoryGb + ROUNDING) continue
        if (value + maxValue[j + 1]! <= worthMore + ROUNDING) continue
        next.push({ cpus: used, memoryGb: usedGb, value, option: k, before })
      }
    }
    kept = unbeaten(next)
    if (kept.length === 0 || kept.length > MAX_KEPT) return null
  }
  let best: Partial | null = kept.reduce((most, other) => (other.value > most.value ? other : most))
  const choice = new Array<number>(residents.length)
  for (let j = residents.length - 1; j >= 0; j--) {
    choice[j] = best!.option
    best = best!.before
  }
  return choice
}

/** The non-dominated choices: no other has less CPU, less memory and more throughput. */
function unbeaten(partials: Partial[]): Partial[] {
  partials.sort((a, b) => b.value - a.value || a.cpus - b.cpus || a.memoryGb - b.memoryGb)
  const kept: Partial[] = []
  // Staircase of the choices kept so far: with rising CPU, the memory that a new choice must undercut falls.
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

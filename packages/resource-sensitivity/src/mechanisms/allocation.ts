import { type JobProfile, type PerGpuShare, throughputAt } from '../profile/job-profile.js'

/** CPU and memory per GPU, and the throughput they give. */
export interface AllocationOption extends PerGpuShare {
  readonly throughput: number
}

/** Allocations for jobs of one model on one kind of server, none slower than the GPU-proportional share. */
export interface AllocationOptions {
  /** Throughput with the GPU-proportional share. */
  readonly fairThroughput: number
  /** Cheapest first, then by rising throughput; no option is dominated in CPU, memory and throughput. */
  readonly options: readonly AllocationOption[]
}

/** Tolerance that keeps rounding in the tables from making a fair share look slower than itself. */
const SAME = 1e-9

/**
 * Returns the options of a model on a server with the GPU-proportional share `fair`: the points of the model's table
 * and the fair share itself. The first option needs no more than the fair share of any resource. So a server can always
 * run as many jobs as it has GPUs.
 */
export function allocationOptions(profile: JobProfile, fair: PerGpuShare): AllocationOptions {
  const fairThroughput = throughputAt(profile, fair.cpus, fair.memoryGb)
  const candidates: AllocationOption[] = [{ ...fair, throughput: fairThroughput }]
  profile.cpusPerGpu.forEach((cpus, i) => {
    profile.memoryGbPerGpu.forEach((memoryGb, j) => {
      const throughput = profile.throughput[i]![j]!
      if (throughput >= fairThroughput * (1 - SAME)) candidates.push({ cpus, memoryGb, throughput })
    })
  })
  const kept = candidates.filter((option, i) => !candidates.some((other, k) => beats(other, option, k < i)))
  const cost = ({ cpus, memoryGb }: AllocationOption) => cpus / fair.cpus + memoryGb / fair.memoryGb
  const withinFair = kept.filter((option) => option.cpus <= fair.cpus && option.memoryGb <= fair.memoryGb)
  const cheapest = withinFair.reduce((best, option) => (cost(option) < cost(best) ? option : best))
  const others = kept.filter((option) => option !== cheapest)
  others.sort((a, b) => a.throughput - b.throughput || cost(a) - cost(b))
  return { fairThroughput, options: [cheapest, ...others] }
}

function beats(a: AllocationOption, b: AllocationOption, first: boolean): boolean {
  if (a.cpus > b.cpus || a.memoryGb > b.memoryGb || a.throughput < b.throughput) return false
  return first || a.cpus < b.cpus || a.memoryGb < b.memoryGb || a.throughput > b.throughput
}

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
  return allocate(residents, cpus, memoryGb, 1 / cpus, 1 / memoryGb).choice
}

/** As `allocateServer`, for any prices; `price` is the most throughput that one more unit of cost would give. */
function allocate(
  residents: readonly Resident[],
  cpus: number,
  memoryGb: number,
  cpuPrice: number,
  memoryPrice: number,
): { readonly choice: number[]; readonly price: number } {
  const choice = new Array<number>(residents.length).fill(0)
  let freeCpus = cpus
  let freeGb = memoryGb
  for (const { gpus, options } of residents) {
    freeCpus -= options[0]!.cpus * gpus
    freeGb -= options[0]!.memoryGb * gpus
  }
  for (;;) {
    let bestRate = 0
    let bestJob = -1
    let bestOption = -1
    let price = 0
    for (let j = 0; j < residents.length; j++) {
      const { gpus, options } = residents[j]!
      const current = options[choice[j]!]!
      for (let k = 0; k < options.length; k++) {
        const option = options[k]!
        const gain = option.throughput - current.throughput
        if (gain <= ROUNDING) continue
        const moreCpus = (option.cpus - current.cpus) * gpus
        const moreGb = (option.memoryGb - current.memoryGb) * gpus
        const rate = gain / Math.max(moreCpus * cpuPrice + moreGb * memoryPrice, ROUNDING)
        if (moreCpus > freeCpus + ROUNDING || moreGb > freeGb + ROUNDING) price = Math.max(price, rate)
        else if (rate > bestRate) {
          bestRate = rate
          bestJob = j
          bestOption = k
        }
      }
    }
    if (bestJob < 0) {
      // If every job runs at its maximum speed, the greedy result is the best.
      const better =
        price > 0 ? exactAllocation(residents, cpus, memoryGb, allocatedThroughput(residents, choice)) : null
      return { choice: better ?? choice, price }
    }
    const { gpus, options } = residents[bestJob]!
    const [from, to] = [options[choice[bestJob]!]!, options[bestOption]!]
    freeCpus -= (to.cpus - from.cpus) * gpus
    freeGb -= (to.memoryGb - from.memoryGb) * gpus
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
function exactAllocation(
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

/** Throughput at a power. */
export interface WattOption {
  readonly watts: number
  readonly throughput: number
}

export interface WattShares {
  /** Chosen point of each party. */
  readonly chosen: readonly number[]
  readonly gain: number
  /** Gain of one more watt; 0 if every job is at its maximum. */
  readonly price: number
}

/**
 * Distributes watts among jobs that choose one operating point each, as `allocateServer` distributes cores.
 *
 * @param all operating points of each job, at least one, watts and throughput strictly ascending
 * @param watts total power; if it is below the sum of all first points, every job still gets its first point
 */
export function shareWatts(all: readonly (readonly WattOption[])[], watts: number): WattShares {
  const jobs = all.map((ways): Resident => {
    const options = ways.map((way) => ({ cpus: way.watts, memoryGb: 0, throughput: way.throughput }))
    return { gpus: 1, options }
  })
  const { choice, price } = allocate(jobs, watts, 0, 1, 0)
  return { chosen: choice, gain: allocatedThroughput(jobs, choice), price }
}

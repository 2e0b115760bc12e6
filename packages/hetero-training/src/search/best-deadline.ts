import { CheapestShares } from './cheapest-shares.js'
import { DeadlineRelaxation, SAME_COST } from './deadline-relaxation.js'
import { type GpuOptions, LEFT_OUT, type ShareRange } from './option-table.js'

/** The objective, minimised: `energyWeight` * energy above idle + `timeWeightW` * time. */
export interface Objective {
  readonly energyWeight: number
  readonly timeWeightW: number
  /** Idle power of all GPUs, W, drawn while they wait. */
  readonly idlePowerW: number
  readonly longestS: number
  /** Maximum energy, J. */
  readonly maxEnergyJ: number
}

/** A split and the limit of each GPU (an index, or `LEFT_OUT`). */
export interface Split {
  readonly shares: Int32Array
  readonly limits: Int16Array
  /** The slowest GPU's time, s. */
  readonly timeS: number
  /** Waiting included, J. */
  readonly energyJ: number
  readonly cost: number
}

/** Relative difference below which two times are equal, since curves through equal measurements differ by rounding. */
export const SAME_TIME = 1e-9

interface Node {
  /** Exclusive lower bound of the slowest GPU's time, s. */
  readonly afterS: number
  /** Inclusive upper bound, s. */
  readonly deadlineS: number
  readonly ranges: readonly ShareRange[]
  readonly bound: number
}

/**
 * Finds the cheapest split over all deadlines, exact to a relative 1e-10. For a fixed deadline the problem is separable
 * (see `DeadlineRelaxation`), and a later deadline never costs more energy. So the energy at the end of an interval of
 * deadlines plus the time at its start is a lower bound for the interval. Branch and bound halves intervals, down to a
 * single possible time, and drops shares that no better solution can have.
 */
export class DeadlineSearch {
  readonly #gpus: readonly GpuOptions[]
  readonly #ranges: readonly ShareRange[]
  readonly #relaxation: DeadlineRelaxation

  /** @param ranges shares to search; default: all */
  constructor(
    gpus: readonly GpuOptions[],
    globalBatch: number,
    ranges: readonly ShareRange[] = gpus.map(() => ({ first: 0, last: globalBatch })),
  ) {
    this.#gpus = gpus
    this.#ranges = ranges
    const cheapest = gpus.map((options) => new CheapestShares(options, globalBatch))
    this.#relaxation = new DeadlineRelaxation(cheapest, globalBatch)
  }

  /**
   * @param afterS only solutions whose slowest GPU takes longer than this
   * @param known the cheapest known solution among the faster ones
   * @returns null if nothing meets the limits
   */
  cheapest(objective: Objective, afterS = 0, known: Split | null = null): Split | null {
    const { energyWeight, timeWeightW, idlePowerW, longestS, maxEnergyJ } = objective
    if (timeWeightW === 0) return this.#atDeadline(longestS, this.#ranges, objective)
    let best = known
    const consider = (split: Split | null) => {
      if (split && split.energyJ <= maxEnergyJ && (best === null || split.cost < best.cost)) best = split
    }
    const upper = () => (best === null ? Infinity : best.cost)
    const open: Node[] = [{ afterS, deadlineS: longestS, ranges: this.#ranges, bound: 0 }]
    for (let node = open.pop(); node; node = open.pop()) {
      if (node.bound >= upper() * (1 - SAME_COST)) continue
      const relaxation = this.#relaxation
      relaxation.solve(node.deadlineS, node.ranges)
      const energyBound = relaxation.bound
      if (energyBound === Infinity) continue
      if (relaxation.cost < Infinity) consider(this.#split(relaxation.shares, objective))
      // Later deadlines cost more than the best solution, whatever energy they save.
      const lastS = Math.min(node.deadlineS, (upper() - energyWeight * energyBound) / timeWeightW)
      const bound = (fromS: number) => energyWeight * energyBound + timeWeightW * fromS
      const allowance = energyWeight === 0 ? Infinity : (upper() - bound(node.afterS)) / energyWeight
      const ranges = node.ranges.map((range, gpu) =>
        allowance === Infinity ? range : relaxation.shrink(gpu, range, allowance),
      )
      const times = this.#possibleTimes(ranges, node.afterS, lastS)
      if (times === null) continue
      const [earliestS, latestS] = times
      const fromHere = bound(earliestS)
      if (fromHere >= upper() * (1 - SAME_COST)) continue
      if (energyBound + idlePowerW * earliestS > maxEnergyJ) continue
      if (earliestS === latestS) {
        consider(this.#atDeadline(latestS, ranges, objective))
        continue
      }
      const middle = (earliestS + latestS) / 2
      const splitS = middle > earliestS && middle < latestS ? middle : earliestS
      const early = { afterS: node.afterS, deadlineS: splitS, ranges, bound: fromHere }
      const late = { afterS: splitS, deadlineS: latestS, ranges, bound: fromHere }
      open.push(late, early)
    }
    return best
  }

  #atDeadline(deadlineS: number, ranges: readonly ShareRange[], objective: Objective): Split | null {
    this.#relaxation.solve(deadlineS, ranges)
    const shares = this.#relaxation.exactShares(ranges)
    const split = shares && this.#split(shares, objective)
    return split && split.energyJ <= objective.maxEnergyJ ? split : null
  }

  /** Evaluates shares with the limits that the relaxation chose for them. */
  #split(shares: Int32Array, objective: Objective): Split {
    const limits = Int16Array.from(shares, (share, gpu) => this.#relaxation.limitOf(gpu, share))
    return splitOf(this.#gpus, Int32Array.from(shares), limits, objective)
  }

  /** Earliest and latest time in an interval that a remaining share takes; null if no share falls into it. */
  #possibleTimes(ranges: readonly ShareRange[], afterS: number, untilS: number): [number, number] | null {
    let earliest = Infinity
    let latest = -Infinity
    this.#gpus.forEach((options, gpu) => {
      const { first, last } = ranges[gpu]!
      for (let limit = 0; limit < options.settings.length; limit++) {
        const times = options.table(limit).timeS
        for (let share = first; share <= last; share++) {
          const seconds = times[share]!
          if (seconds > afterS && seconds <= untilS) {
            if (seconds < earliest) earliest = seconds
            if (seconds > latest) latest = seconds
          }
        }
      }
    })
    return earliest <= latest ? [earliest, latest] : null
  }
}

export function splitOf(
  gpus: readonly GpuOptions[],
  shares: Int32Array,
  limits: Int16Array,
  { energyWeight, timeWeightW, idlePowerW }: Objective,
): Split {
  let timeS = 0
  let active = 0
  shares.forEach((share, gpu) => {
    if (limits[gpu] === LEFT_OUT) return
    const table = gpus[gpu]!.table(limits[gpu]!)
    timeS = Math.max(timeS, table.timeS[share]!)
    active += table.activeEnergyJ[share]!
  })
  const cost = energyWeight * active + timeWeightW * timeS
  return { shares, limits, timeS, energyJ: active + idlePowerW * timeS, cost }
}

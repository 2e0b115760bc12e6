import { CheapestShares } from './cheapest-shares.js'
import { type GpuOptions, LEFT_OUT, onlyLevel } from './option-table.js'

/** Range of levels of each GPU to be searched, inclusive. A level is the index of a limit, or `LEFT_OUT`. */
export interface LevelBox {
  readonly floor: Int16Array
  readonly cap: Int16Array
}

/** Maximum number of steps of a price search; each step gives a bound. */
const MAX_PRICES = 60
/** Relative distance from the best possible bound at which the price search ends. */
const SAME_BOUND = 1e-8

interface Taken {
  readonly watts: number
  readonly cost: number
  readonly samples: number
}

/** A step of a GPU to a higher level that saves cost: more watts, less cost. */
interface Step extends Taken {
  readonly gpu: number
  readonly level: number
}

/** Result of a price per sample. */
interface Priced {
  readonly price: number
  /** Lower bound of the energy, J. */
  readonly bound: number
  /** Unassigned samples of the batch: the slope of the bound. */
  readonly left: number
  /** A level for each GPU, within the power budget. */
  readonly levels: Int16Array
}

/**
 * Computes a lower bound of the energy of a batch within a deadline and a power budget. Samples are priced instead of
 * counted (Everett 1963), and one GPU may mix two levels. At any price this linear relaxation of a multiple-choice
 * knapsack takes the best saving per watt first (Sinha and Zoltners, "The multiple-choice knapsack problem", 1979).
 */
export class PowerRelaxation {
  /** Number of lookups of a cheapest share so far. */
  work = 0
  /** Lower bound of the energy, J; infinite if the deadline cannot be met within the budget. */
  bound: number = Infinity
  /** Price at which the bound was found, J per sample. */
  price = 0
  levels: Int16Array
  readonly #gpus: readonly GpuOptions[]
  /** Cheapest shares of each GPU if it is left out, then at each limit. */
  readonly #atLevel: readonly (readonly CheapestShares[])[]
  readonly #globalBatch: number
  readonly #powerW: number
  #deadlineS = Number.NaN
  /** Maximum time of an allowed share, s. */
  longestS = 0
  /** Price at which a sample outweighs the total energy, J per sample. */
  #highestPrice = 1

  constructor(gpus: readonly GpuOptions[], globalBatch: number, powerW: number) {
    this.#gpus = gpus
    this.#globalBatch = globalBatch
    this.#powerW = powerW
    this.levels = new Int16Array(gpus.length)
    this.#atLevel = gpus.map((gpu) =>
      [LEFT_OUT, ...gpu.settings.keys()].map((level) => new CheapestShares(onlyLevel(gpu, level), globalBatch)),
    )
    for (const gpu of gpus) {
      let maxEnergyJ = 0
      for (const limit of gpu.settings.keys()) {
        const { timeS, activeEnergyJ } = gpu.table(limit)
        timeS.forEach((seconds, share) => {
          if (seconds === Infinity) return
          this.longestS = Math.max(this.longestS, seconds)
          maxEnergyJ = Math.max(maxEnergyJ, activeEnergyJ[share]!)
        })
      }
      this.#highestPrice += maxEnergyJ
    }
  }

  at(gpu: number, level: number): CheapestShares {
    return this.#atLevel[gpu]![level + 1]!
  }

  /**
   * @param enough the search ends once the bound reaches this value, J
   * @param nearPrice start of the price search, J per sample
   */
  solve(deadlineS: number, box: LevelBox, enough: number, nearPrice: number): void {
    this.bound = Infinity
    this.#deadlineS = deadlineS
    let best: Priced | null = null
    let low: Priced | null = null
    let high: Priced | null = null
    let step = Math.max(Math.abs(nearPrice) / 8, 1e-9 * this.#highestPrice)
    for (let i = 0, price: number | null = nearPrice; price !== null; i++) {
      const priced: Priced | null = this.#priced(price, box)
      if (priced === null) return
      if (best === null || priced.bound > best.bound) best = priced
      if (priced.left > 0) low = priced
      else high = priced
      if (i === MAX_PRICES || best.bound >= enough || priced.left === 0) break
      if (low !== null && high !== null) {
        price = this.#between(low, high, best.bound, i % 4 === 3)
        continue
      }
      if (Math.abs(price) >= this.#highestPrice) return
      const next: number = price + (low === null ? -step : step)
      price = Math.max(-this.#highestPrice, Math.min(this.#highestPrice, next))
      step *= 6
    }
    const found: Priced = best!
    this.bound = found.bound
    this.price = found.price
    this.levels = found.levels
  }

  /**
   * Returns the next price to try. Both tangents lie above the bound, which is concave in the price. So the bound never
   * exceeds their intersection.
   *
   * @param halve try the middle instead of the intersection
   * @returns null if the best bound cannot rise any more
   */
  #between(low: Priced, high: Priced, best: number, halve: boolean): number | null {
    const width = high.price - low.price
    const meet = (high.bound - low.bound + low.left * low.price - high.left * high.price) / (low.left - high.left)
    const most = low.bound + low.left * (meet - low.price)
    if (most - best <= SAME_BOUND * Math.abs(most) || width <= 1e-15 * this.#highestPrice) return null
    return meet > low.price && meet < high.price && !halve ? meet : (low.price + high.price) / 2
  }

  /** @returns null if the deadline or the budget leaves a GPU no option */
  #priced(price: number, { floor, cap }: LevelBox): Priced | null {
    const levels = new Int16Array(this.#gpus.length)
    const steps: Step[] = []
    let bound = price * this.#globalBatch
    let left = this.#globalBatch
    let spareW = this.#powerW
    for (let gpu = 0; gpu < levels.length; gpu++) {
      const { settings, idlePowerW } = this.#gpus[gpu]!
      const from = steps.length
      // Builds the hull of this GPU's levels in watts and cost, starting at its lowest level.
      let at: Taken | null = null
      for (let level = floor[gpu]!; level <= cap[gpu]!; level++) {
        let [cost, samples, watts] = [0, 0, idlePowerW]
        if (level !== LEFT_OUT) {
          this.work++
          const cheapest = this.at(gpu, level)
          cheapest.find(this.#deadlineS, { first: 0, last: this.#globalBatch })
          if (cheapest.hullLength === 0) continue
          samples = cheapest.shareAt(price)
          cost = cheapest.cost[samples]! - price * samples
          watts = settings[level]!.powerLimitW
        }
        if (at === null) {
          levels[gpu] = level
          bound += cost
          left -= samples
          spareW -= watts
        } else {
          if (cost >= at.cost) continue
          while (steps.length > from) {
            const last: Step = steps[steps.length - 1]!
            if (last.cost * (watts - at.watts) < (cost - at.cost) * last.watts) break
            steps.pop()
            at = minus(at, last)
          }
          steps.push({ gpu, level, ...minus({ watts, cost, samples }, at) })
        }
        at = { watts, cost, samples }
      }
      if (at === null) return null
    }
    // Allows for rounding in the sum of watts.
    if (spareW < -1e-9 * this.#powerW) return null
    steps.sort((a, b) => a.cost * b.watts - b.cost * a.watts)
    for (const { gpu, level, watts, cost, samples } of steps) {
      if (watts > spareW) {
        const taken = Math.max(0, spareW) / watts
        bound += taken * cost
        left -= taken * samples
        break
      }
      levels[gpu] = level
      bound += cost
      left -= samples
      spareW -= watts
    }
    return { price, bound, left, levels }
  }
}

function minus(a: Taken, b: Taken): Taken {
  return { watts: a.watts - b.watts, cost: a.cost - b.cost, samples: a.samples - b.samples }
}

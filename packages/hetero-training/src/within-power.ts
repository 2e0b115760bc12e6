import { DeadlineSearch, type Objective, type Split } from './search/best-deadline.js'
import { type GpuOptions, LEFT_OUT } from './search/option-table.js'
import { sum } from './training-job.js'

/** A split in which the power limits of all GPUs add up to little enough. */
export interface SplitWithinPower {
  /** With limits as indices of the GPUs' options. */
  readonly split: Split
  /** No such split costs less, in the objective. */
  readonly lowerBound: number
}

/** Some levels of each GPU, from `floor` to `cap`, and the cheapest split with them. A level is a limit's index, or `LEFT_OUT`. */
interface Box {
  readonly floor: readonly number[]
  readonly cap: readonly number[]
  readonly split: Split
}

/** Shares times limits over all GPUs that are looked at before the search is ended. */
const MOST_OPTIONS = 1e7
const LEAST_BOXES = 8

/** Of prices, which only lead to a plan: what is found with them is solved once more. */
const PRICE_TOLERANCE = 5e-3
const MOST_PRICES = 12

/**
 * The cheapest split whose limits add up to at most `powerW`, by branch and bound: the cheapest split of a box that draws too much
 * shows which levels cannot all stay; each branch lowers one of them. Where that takes too many boxes, as with many GPUs of many
 * limits, the answer is the best that prices on watts lead to, and the bound tells how far from the optimum it can be.
 *
 * @returns null where no split keeps it
 */
export function cheapestWithinPower(
  gpus: readonly GpuOptions[],
  globalBatch: number,
  objective: Objective,
  powerW: number,
): SplitWithinPower | null {
  const solve = (floor: readonly number[], cap: readonly number[]): Box | null => {
    const tight = tightened(gpus, floor, cap, powerW)
    const found =
      tight &&
      new DeadlineSearch(
        gpus.map((gpu, i) => between(gpu, floor[i]!, tight[i]!)),
        globalBatch,
      ).cheapest(objective)
    if (!found) return null
    const limits = found.limits.map((limit, i) => (limit === LEFT_OUT ? LEFT_OUT : limit + Math.max(0, floor[i]!)))
    return { floor, cap: tight, split: { ...found, limits } }
  }
  const root = solve(
    gpus.map(({ mayBeLeftOut }) => (mayBeLeftOut ? LEFT_OUT : 0)),
    gpus.map(({ powerLimitsW }) => powerLimitsW.length - 1),
  )
  if (root === null) return null
  const open = [root]
  const options = globalBatch * sum(gpus.map(({ powerLimitsW }) => powerLimitsW.length))
  for (let left = Math.max(LEAST_BOXES, Math.floor(MOST_OPTIONS / options)); left > 0; ) {
    open.sort((a, b) => b.split.cost - a.split.cost)
    const box = open.pop()
    if (box === undefined) return null
    if (wattsOf(gpus, box.split.limits) <= powerW) return { split: box.split, lowerBound: box.split.cost }
    for (const { floor, cap } of branches(box)) {
      const child = solve(floor, cap)
      left--
      if (child) open.push(child)
    }
  }
  if (open.length === 0) return null
  const lowerBound = Math.min(...open.map(({ split }) => split.cost))
  const within = open.filter(({ split }) => wattsOf(gpus, split.limits) <= powerW).map(({ split }) => split)
  const priced = byPrices(gpus, globalBatch, objective, powerW)
  const polished = priced.split && solve(lowest(gpus), [...priced.split.limits])
  if (polished) within.push(polished.split)
  const split = within.reduce<Split | null>((best, other) => (best && best.cost <= other.cost ? best : other), null)
  return split && { split, lowerBound: Math.min(Math.max(lowerBound, priced.lowerBound), split.cost) }
}

const lowest = (gpus: readonly GpuOptions[]) => gpus.map(({ mayBeLeftOut }) => (mayBeLeftOut ? LEFT_OUT : 0))

function wattsAt({ powerLimitsW, idlePowerW }: GpuOptions, level: number): number {
  return level === LEFT_OUT ? idlePowerW : powerLimitsW[level]!
}

function wattsOf(gpus: readonly GpuOptions[], levels: ArrayLike<number>): number {
  return sum(gpus.map((gpu, i) => wattsAt(gpu, levels[i]!)))
}

/** Caps that each GPU could reach if all others were at their floor; null where the floors alone draw too much. */
function tightened(
  gpus: readonly GpuOptions[],
  floor: readonly number[],
  cap: readonly number[],
  powerW: number,
): number[] | null {
  const slackW = powerW - wattsOf(gpus, floor)
  if (slackW < 0) return null
  return gpus.map((gpu, i) => {
    let level = cap[i]!
    while (level > floor[i]! && wattsAt(gpu, level) - wattsAt(gpu, floor[i]!) > slackW) level--
    return level
  })
}

/** Whatever keeps the budget is below the levels found at some GPU; the first such GPU tells the branches apart. */
function* branches({ floor, cap, split: { limits } }: Box): Generator<Pick<Box, 'floor' | 'cap'>> {
  for (let i = 0; i < floor.length; i++) {
    if (limits[i]! <= floor[i]!) continue
    yield {
      floor: floor.map((level, j) => (j < i ? limits[j]! : level)),
      cap: cap.map((level, j) => (j === i ? limits[j]! - 1 : level)),
    }
  }
}

function between(gpu: GpuOptions, floor: number, cap: number): GpuOptions {
  const from = Math.max(0, floor)
  return {
    ...gpu,
    powerLimitsW: gpu.powerLimitsW.slice(from, cap + 1),
    timeS: gpu.timeS.slice(from, cap + 1),
    activeEnergyJ: gpu.activeEnergyJ.slice(from, cap + 1),
    mayBeLeftOut: floor === LEFT_OUT,
  }
}

interface Priced {
  /** The cheapest seen that keeps the budget. */
  readonly split: Split | null
  readonly lowerBound: number
}

/** Price watts so high that the budget is kept. Each price gives a lower bound (Lagrangian relaxation). */
function byPrices(gpus: readonly GpuOptions[], globalBatch: number, objective: Objective, powerW: number): Priced {
  const search = new DeadlineSearch(gpus, globalBatch)
  // Without any weight on energy a price on watts would have none either.
  const energyWeight = Math.max(objective.energyWeight, PRICE_TOLERANCE)
  // A priced search may pass over splits that keep a budget of energy, and others weigh more than they should.
  const isBound = objective.mostEnergyJ === Number.POSITIVE_INFINITY && energyWeight === objective.energyWeight
  let best: Split | null = null
  let lowerBound = Number.NEGATIVE_INFINITY
  let low = 0
  let high = 1e-3
  for (let i = 0; i < MOST_PRICES; i++) {
    const pricePerWatt = best === null ? high : (low + high) / 2
    const split = search.cheapest({ ...objective, energyWeight, pricePerWatt }, 0, null, PRICE_TOLERANCE)
    if (split !== null && isBound) {
      lowerBound = Math.max(lowerBound, split.cost * (1 - PRICE_TOLERANCE) - energyWeight * pricePerWatt * powerW)
    }
    if (split !== null && wattsOf(gpus, split.limits) <= powerW) {
      best = split
      high = pricePerWatt
    } else {
      low = pricePerWatt
      if (best === null) high *= 8
    }
  }
  return { split: best, lowerBound }
}

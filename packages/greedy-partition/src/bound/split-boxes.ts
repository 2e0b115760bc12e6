import { IndexedHeap } from '@pctodl/numerics'
import type { MixBounds, MixBox, Predictor } from '@pctodl/perf-model'
import { mixTotals } from '@pctodl/perf-model'
import { smClocksAt } from '@pctodl/platform'
import type { SearchProblem } from '../search-problem.js'
import { BoxRelaxation } from './box-relaxation.js'

/** A box with its range in the clock table, both ends included. */
interface ClockedBox extends MixBox {
  readonly clocksMhz: readonly number[]
  readonly lowClock: number
  readonly highClock: number
  /** Best prices found for the box; a new box starts with those of its parent. */
  readonly prices: Float64Array
  /** Upper bound on the value of its mixes, weighted samples/s. */
  readonly bound: number
}

/** A box with the mix that attains its bound: kinds and totals. */
interface BoundedBox extends ClockedBox {
  readonly kinds: Int32Array
  readonly totals: Float64Array
}

/** Stopping conditions of the splitting. */
export interface SplitLimits {
  /** Maximum number of boxes to bound. */
  readonly maxBoxes: number
  /** Stop at a bound this low, weighted samples/s. */
  readonly enough: number
  /** Whether the time limit is reached. */
  readonly late: () => boolean
}

/** Weight of a tenant's minimum throughput, relative to its maximum, in the choice of a split. */
const MIN_COUNTS = 0.3
/** A total is split at its value in the best mix, but at least this part of the range away from both ends. */
const FROM_END = 0.25
/** Ranges narrower than this part of their upper end are not split. */
const NARROW = 1e-4

/**
 * Branch and bound over boxes of mixes for an upper bound on the value of any mix. It starts with one box for each
 * memory clock and number of tenants. The box with the largest bound is split along the clock or a total, whichever
 * affects its best mix most, until a stopping condition holds. Returns the box with the largest bound; undefined if no
 * mix is within the cap.
 */
export function splitBoxes(
  predictor: Predictor,
  problem: SearchProblem,
  bounds: MixBounds,
  { maxBoxes, enough, late }: SplitLimits,
): BoundedBox | undefined {
  const relaxation = new BoxRelaxation(problem, bounds)
  const boxes: BoundedBox[] = []
  const order = new IndexedHeap()
  const add = (box: ClockedBox): void => {
    const prices = Float64Array.from(box.prices)
    const bound = Math.min(box.bound, relaxation.bound(box, prices))
    const kinds = relaxation.kinds.slice(0, box.tenants)
    boxes.push({ ...box, prices, bound, kinds, totals: relaxation.totals.slice() })
    if (bound > 0) order.set(boxes.length - 1, -bound)
  }

  for (const memClockMhz of problem.memClocksMhz) {
    const clocksMhz = smClocksAt(predictor.spec, memClockMhz)!
    for (
      let tenants = problem.kinds.networks.length;
      tenants <= Math.min(problem.maxTenants, problem.totalUnits);
      tenants++
    ) {
      add({
        tenants,
        memClockMhz,
        clocksMhz,
        lowClock: 0,
        highClock: clocksMhz.length - 1,
        lowClockMhz: clocksMhz[0]!,
        highClockMhz: clocksMhz.at(-1)!,
        ...relaxation.mixes.allTotals(tenants),
        prices: new Float64Array(relaxation.mixes.rows),
        bound: Number.POSITIVE_INFINITY,
      })
    }
  }
  while (order.size > 0 && boxes.length < maxBoxes && -order.firstKey > enough && !late()) {
    const first = order.first
    const halves = halvesOf(boxes[first]!, problem, bounds)
    if (halves === undefined) break
    order.remove(first)
    halves.forEach(add)
  }
  return order.size === 0 ? undefined : boxes[order.first]
}

/** The two halves of a box along its best split; undefined if it cannot be split further. */
function halvesOf(box: BoundedBox, problem: SearchProblem, bounds: MixBounds): readonly ClockedBox[] | undefined {
  const spread = (half: MixBox) => spreadOf(half, box, problem, bounds)
  const before = 2 * spread(box)
  let best: readonly ClockedBox[] | undefined
  let most = Number.NEGATIVE_INFINITY
  for (const halves of waysToSplit(box)) {
    const gain = before - spread(halves[0]!) - spread(halves[1]!)
    if (gain > most) {
      most = gain
      best = halves
    }
  }
  return best
}

function waysToSplit(box: BoundedBox): (readonly ClockedBox[])[] {
  const ways: (readonly ClockedBox[])[] = []
  for (let total = 0; total < mixTotals.length; total++) {
    const low = box.low[total]!
    const high = box.high[total]!
    if (high - low <= NARROW * high) continue
    const margin = FROM_END * (high - low)
    const at = Math.min(high - margin, Math.max(low + margin, box.totals[total]!))
    ways.push([
      { ...box, high: box.high.with(total, at) },
      { ...box, low: box.low.with(total, at) },
    ])
  }
  if (box.highClock > box.lowClock) {
    const middle = (box.lowClock + box.highClock) >> 1
    ways.push([
      { ...box, highClock: middle, highClockMhz: box.clocksMhz[middle]! },
      { ...box, lowClock: middle + 1, lowClockMhz: box.clocksMhz[middle + 1]! },
    ])
  }
  return ways
}

/**
 * Optimistic value of a box's best mix within one half, at the box's price of power and minus a part of its guaranteed
 * throughput: the half's contribution to the looseness of the bound.
 */
function spreadOf(
  half: MixBox,
  box: BoundedBox,
  { kinds, weights, powerLimitW }: SearchProblem,
  bounds: MixBounds,
): number {
  const perW = box.prices[0]! / (powerLimitW - bounds.idlePowerW(box.memClockMhz))
  let sum = 0
  let each = 0
  box.kinds.forEach((kind, j) => {
    if (j === 0 || kind !== box.kinds[j - 1]) {
      bounds.enter(kind, half)
      const { maxThroughput, minThroughput, minStandingW, minJPerSample } = bounds
      each =
        weights[kinds.network[kind]!]! * (maxThroughput - MIN_COUNTS * minThroughput) -
        perW * (minStandingW + minJPerSample * maxThroughput)
    }
    sum += each
  })
  return sum
}

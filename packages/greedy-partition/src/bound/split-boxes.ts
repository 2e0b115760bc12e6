import { IndexedHeap } from '@pctodl/numerics'
import type { MixBounds, MixBox, Predictor } from '@pctodl/perf-model'
import { mixTotals } from '@pctodl/perf-model'
import { smClocksAt } from '@pctodl/platform'
import type { SearchProblem } from '../search-problem.js'
import { BoxRelaxation } from './box-relaxation.js'

/** A box and the part of the clock table that it has, both ends included. */
interface ClockedBox extends MixBox {
  readonly clocksMhz: readonly number[]
  readonly lowClock: number
  readonly highClock: number
  /** The best prices found for it; of a new box those of the one that it was in. */
  readonly prices: Float64Array
  /** What no mix in it is worth more than, weighted samples/s. */
  readonly bound: number
}

/** With the mix that the bound is of: kinds and what they add to the totals. */
interface BoundedBox extends ClockedBox {
  readonly kinds: Int32Array
  readonly totals: Float64Array
}

/** When to stop splitting. */
export interface SplitLimits {
  /** Boxes to bound. */
  readonly maxBoxes: number
  /** A bound as low is low enough, weighted samples/s. */
  readonly enough: number
  /** Whether the time is up. */
  readonly late: () => boolean
}

/** Of how fast a tenant is at least in a box, beside how fast it is at most, when it is weighed which way to split it. */
const MIN_COUNTS = 0.3
/** Totals are split at what the best mix has of them, but not closer to an end than such a part of the range. */
const FROM_END = 0.25
/** Narrower ranges than such a part of their upper ends are not split. */
const NARROW = 1e-4

/**
 * What no mix is worth more than: branch and bound over boxes of mixes, first one for each memory clock and number of tenants. The box of the
 * largest bound is split in two, along the clock or a total, whichever its best mix feels most, until the largest bound left is
 * low enough or the work is done. Undefined where no mix keeps the cap.
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

/** The two boxes that a box splits into best; undefined where it cannot be split any more. */
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

/** How much more the mix that a box's bound is of may be worth than it is, at the box's price of a watt, as far as a half of the box leaves it open. */
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

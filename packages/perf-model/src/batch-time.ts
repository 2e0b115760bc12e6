/** A tenant's terms in a `Float64Array`, `stride` apart, corrections included. */
export const termLayout = {
  /** Clock-bound device time, ms x MHz. */
  cycles: 0,
  /** Memory traffic that arithmetic hides, MB over the factor on the device's speed. */
  mixedMb: 1,
  /** The same for traffic that nothing hides. */
  streamMb: 2,
  /** Time per MB that the tenant's own SMs need, ms x MHz. */
  ownCycles: 3,
  /** Device time per batch that no clock changes, ms. */
  gapMs: 4,
  launchMs: 5,
  hostMs: 6,
  /** Launches of the neighbours as if each were alone at the top clocks, in parts of what the host can launch side by side. */
  launchOthers: 7,
  /** The rest of the host's work that the neighbours ask for, in the same way, in parts of the host's capacity for it. */
  hostOthers: 8,
  /** The own part of the same: time that a batch takes of the whole host, ms. */
  hostShareMs: 9,
  /** The own demand in parts of what the host can launch side by side. */
  launchOwn: 10,
  /** Unqueued time at the top clock, ms; 0 where it is what is asked for. */
  topUnqueuedMs: 11,
  /** Clock-bound device time at the clock in question, ms. */
  cyclesMs: 12,
  /** Times of the traffic at that clock without waiting, ms. */
  mixedMs: 13,
  streamMs: 14,
  stride: 15,
} as const

/** Where a batch time is asked for, and along which way its derivatives are taken: a parameter that price and pace depend on. */
export const pointLayout = {
  /** Factor by which accesses to DRAM take longer than without waiting, >= 1. */
  price: 0,
  /** First and second derivative of the price by the parameter. */
  priceSlope: 1,
  priceBend: 2,
  /** How fast the neighbours run, in parts of what they do at the top clock, 0..1. */
  pace: 3,
  /** First derivative of the pace by the parameter; it has no second one. */
  paceSlope: 4,
  length: 5,
} as const

/** What `batchTime` writes, by index. */
export const timeLayout = {
  /** Time of a batch from start to end, ms. */
  batchMs: 0,
  /** The same on a host whose capacity had no end, ms. */
  unqueuedMs: 1,
  /** First and second derivative of the batch time by the point's parameter, ms. */
  slope: 2,
  bend: 3,
  length: 4,
} as const

const of = termLayout
const where = pointLayout
const at = timeLayout

/** Time of a batch on the device, ms: what arithmetic takes or the traffic that it hides, then the rest. */
export function deviceTime(terms: Float64Array, offset: number, price: number): number {
  const cyclesMs = terms[offset + of.cyclesMs]!
  const pricedMs = terms[offset + of.mixedMs]! * price
  return (
    Math.sqrt(cyclesMs * cyclesMs + pricedMs * pricedMs) +
    terms[offset + of.streamMs]! * price +
    terms[offset + of.gapMs]!
  )
}

/**
 * The one statement of how long a batch takes, with its derivatives (which a test holds against difference quotients):
 *
 *     device    t_d = max_2(cycles, mixed price) + stream price + gap
 *     launch    t_l = launch max_4(1, own + pace others)
 *     unqueued  t_u = max_8(t_d, t_l) + host
 *     batch     t   = max_8(t_u, own share of the host + others' share of it x t_u at the top clock)
 *
 * A tenant's own demand to launch counts as 1, the most it can be, so that asking for more never slows it down. The last line
 * is the capacity of the host: among tenants that keep their proportions nobody's batch ends before the host has served all. The
 * smooth maxima are written out because their derivatives need the sums under the roots: of M = S^(1/8) they are
 * M' = M S' / (8 S) and M'' = M (S'' - 7/8 S'^2 / S) / (8 S).
 *
 * @param terms `offset` is that of the tenant's terms
 */
export function batchTime(terms: Float64Array, offset: number, point: Float64Array, out: Float64Array): void {
  const price = point[where.price]!
  const priceSlope = point[where.priceSlope]!
  const paceSlope = point[where.paceSlope]!

  const cyclesMs = terms[offset + of.cyclesMs]!
  const mixedMs = terms[offset + of.mixedMs]!
  const streamMs = terms[offset + of.streamMs]!
  const pricedMs = mixedMs * price
  const overlapped = Math.sqrt(cyclesMs * cyclesMs + pricedMs * pricedMs)
  const device = overlapped + streamMs * price + terms[offset + of.gapMs]!
  const perOverlapped = 1 / overlapped
  const mixedPart = pricedMs * perOverlapped
  const perPrice = mixedPart * mixedMs + streamMs
  const deviceSlope = perPrice * priceSlope
  const steeper = mixedMs * priceSlope
  const deviceBend =
    perPrice * point[where.priceBend]! + steeper * steeper * (1 - mixedPart * mixedPart) * perOverlapped

  const load = terms[offset + of.launchOwn]! + point[where.pace]! * terms[offset + of.launchOthers]!
  const loadSlope = paceSlope * terms[offset + of.launchOthers]!
  const load2 = load * load
  const launchSum = 1 + load2 * load2

  // The eighth power of the loaded launch time, itself a fourth root, needs no root.
  const launch2 = terms[offset + of.launchMs]! * terms[offset + of.launchMs]!
  const launch4 = launch2 * launch2
  const launch8 = launch4 * launch4
  const device2 = device * device
  const device6 = device2 * device2 * device2
  const sum = device6 * device2 + launch8 * launchSum * launchSum
  const longer = Math.sqrt(Math.sqrt(Math.sqrt(sum)))
  const sumSlope8 = device6 * device * deviceSlope + launch8 * launchSum * load2 * load * loadSlope
  const sumBend8 =
    device6 * (7 * deviceSlope * deviceSlope + device * deviceBend) +
    launch8 * load2 * loadSlope * loadSlope * (3 * launchSum + 4 * load2 * load2)
  const perSum = 1 / sum
  const unqueued = longer + terms[offset + of.hostMs]!
  const unqueuedSlope = longer * perSum * sumSlope8
  const unqueuedBend = longer * perSum * (sumBend8 - 7 * sumSlope8 * sumSlope8 * perSum)

  const topUnqueued = terms[offset + of.topUnqueuedMs]!
  const hostOthers = terms[offset + of.hostOthers]!
  const served = terms[offset + of.hostShareMs]! + hostOthers * (topUnqueued === 0 ? unqueued : topUnqueued)
  const perUnqueued = topUnqueued === 0 ? hostOthers : 0
  const unqueued2 = unqueued * unqueued
  const unqueued6 = unqueued2 * unqueued2 * unqueued2
  const served2 = served * served
  const served6 = served2 * served2 * served2
  const queue = unqueued6 * unqueued2 + served6 * served2
  const batch = Math.sqrt(Math.sqrt(Math.sqrt(queue)))
  // Of the queue, an eighth of the first derivative by the unqueued time, and of the second one.
  const queuePer = unqueued6 * unqueued + served6 * served * perUnqueued
  const queuePerPer = 7 * (unqueued6 + served6 * perUnqueued * perUnqueued)
  const perQueue = 1 / queue
  const batchPer = batch * perQueue * queuePer
  const batchPerPer = batch * perQueue * (queuePerPer - 7 * queuePer * queuePer * perQueue)
  out[at.batchMs] = batch
  out[at.unqueuedMs] = unqueued
  out[at.slope] = batchPer * unqueuedSlope
  out[at.bend] = batchPerPer * unqueuedSlope * unqueuedSlope + batchPer * unqueuedBend
}

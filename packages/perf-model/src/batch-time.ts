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
  stride: 10,
} as const

/** What `batchTime` writes, by index. */
export const timeLayout = {
  /** Time of a batch from start to end, ms. */
  batchMs: 0,
  /** The same on a host whose capacity had no end, ms. */
  unqueuedMs: 1,
  /** Derivative of the batch time by the price of an access, ms. */
  perPrice: 2,
  /** Derivative of the batch time by the pace of the neighbours at the same price, ms. */
  perPace: 3,
  length: 4,
} as const

const of = termLayout
const at = timeLayout

/** Time of a batch on the device, ms: what arithmetic takes or the traffic that it hides, then the rest. */
export function deviceTime(cyclesMs: number, mixedMs: number, streamMs: number, gapMs: number, price: number): number {
  const priced = mixedMs * price
  return Math.sqrt(cyclesMs * cyclesMs + priced * priced) + streamMs * price + gapMs
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
 * smooth maxima are written out because their derivatives need the sums under the roots.
 *
 * @param terms `offset` is that of the tenant's terms
 * @param cyclesMs clock-bound device time at the clock in question; `mixedMs` and `streamMs` the times of the traffic without waiting
 * @param price factor by which accesses to DRAM take longer than without waiting, >= 1
 * @param pace how fast the neighbours run, in parts of what they do at the top clock, 0..1
 * @param perLaunchClient the own demand in parts of what the host can launch
 * @param topUnqueuedMs t_u at the top clock; 0 where it is what is asked for
 */
export function batchTime(
  terms: Float64Array,
  offset: number,
  cyclesMs: number,
  mixedMs: number,
  streamMs: number,
  price: number,
  pace: number,
  perLaunchClient: number,
  topUnqueuedMs: number,
  out: Float64Array,
): void {
  const launchMs = terms[offset + of.launchMs]!
  const launchOthers = terms[offset + of.launchOthers]!
  const hostOthers = terms[offset + of.hostOthers]!
  const deviceMs = deviceTime(cyclesMs, mixedMs, streamMs, terms[offset + of.gapMs]!, price)
  const launchLoad = perLaunchClient + pace * launchOthers
  const launchCube = launchLoad * launchLoad * launchLoad
  const launchSum = 1 + launchCube * launchLoad
  const launch2 = launchMs * launchMs
  const launch4 = launch2 * launch2
  const launch8 = launch4 * launch4
  const device3 = deviceMs * deviceMs * deviceMs
  const device7 = device3 * device3 * deviceMs
  // The eighth power of the loaded launch time, itself a fourth root, needs no root.
  const sum = device7 * deviceMs + launch8 * launchSum * launchSum
  const longer = Math.sqrt(Math.sqrt(Math.sqrt(sum)))
  const priced = mixedMs * price
  const overlapped = Math.sqrt(cyclesMs * cyclesMs + priced * priced)
  const devicePerPrice = (mixedMs * priced) / overlapped + streamMs
  const unqueuedMs = longer + terms[offset + of.hostMs]!
  const servedMs = terms[offset + of.hostShareMs]! + hostOthers * (topUnqueuedMs === 0 ? unqueuedMs : topUnqueuedMs)
  const unqueued2 = unqueuedMs * unqueuedMs
  const unqueued6 = unqueued2 * unqueued2 * unqueued2
  const served2 = servedMs * servedMs
  const served6 = served2 * served2 * served2
  const queueSum = unqueued6 * unqueued2 + served6 * served2
  const batchMs = Math.sqrt(Math.sqrt(Math.sqrt(queueSum)))
  const servedPerUnqueued = topUnqueuedMs === 0 ? hostOthers : 0
  const perUnqueued = ((unqueued6 * unqueuedMs + served6 * servedMs * servedPerUnqueued) * batchMs) / queueSum
  out[at.batchMs] = batchMs
  out[at.unqueuedMs] = unqueuedMs
  out[at.perPrice] = (perUnqueued * device7 * devicePerPrice * longer) / sum
  out[at.perPace] = (perUnqueued * launch8 * launchSum * launchCube * launchOthers * longer) / sum
}

import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import { type BoardConstants, smoothMax2 } from './board-constants.js'
import { KindField as at, type KindCorrections, type TenantKind, writeRecord } from './kind.js'
import type { NetworkParameters } from './parameters.js'

/**
 * Layout of the values that describe a run in a mix. A run is one tenant, or several consecutive tenants of one kind,
 * which share one solution. With the record of the kind, the values determine the batch time at any clock.
 */
export enum RunField {
  /** Number of tenants in the run. */
  length,
  /** Time that the tenant's own SMs need per MB, ms x MHz. */
  ownCycles,
  /** Launch demand of the other tenants, as a fraction of the host's launch capacity. */
  launchOthers,
  /** Host time for the other tenants' batches at the top clock, per ms of this tenant's batch without the host's queue. */
  hostOthers,
  /** Eighth power of the time that the host needs at the top clock to serve this tenant and the others, ms^8. */
  servedMs8,
  /** At the top clock, without contention for DRAM: memory time with and without overlap, ms, and launch time, ms^8. */
  topMixedMs,
  topStreamMs,
  topLaunchMs8,
  /**
   * At the top clock: the part of the batch time on the device, the batch time without the host's queue, and the batch
   * time, ms. Each is followed by its first and second derivative with respect to the DRAM slowdown.
   */
  topDeviceMs,
  topUnqueuedMs = 11,
  topMs = 14,
  /** Eighth power of the batch time at the top clock, ms^8, and its derivative with respect to the device's part. */
  topMs8 = 17,
  topPerDevice,
  stride,
}

/**
 * Tenants on one board at one memory clock, and their contention at the top SM clock. `prepare` fills all fields, and
 * nothing changes them afterwards. `solve` computes the result at any SM clock from them.
 */
export class Mix {
  tenants = 0
  runs = 0
  memIndex = 0
  /** Fraction of the memory traffic that misses the caches and reaches DRAM. */
  missPart = 1
  /** Time per MB of memory traffic at peak bandwidth and this miss rate, ms. */
  msPerMb = 0
  /** DRAM slowdown at the top clock: the factor by which contention lengthens a DRAM access. */
  topSlowdown = 1
  /** Square of the ratio of the DRAM demand at the top clock to the bandwidth ceiling, 0..1. */
  topDemand = 0
  /**
   * Standard deviation of ln(throughput), and as `powerSd` of ln(power), due to uncertain corrections.
   */
  speedSd = 0
  powerSd = 0
  /** Offset of the record of each run's kind. */
  readonly kinds: Int32Array = new Int32Array(MAX_MPS_CLIENTS)
  /** Values of `RunField` for each run of identical tenants. Run `r` starts at the index `r * RunField.stride`. */
  readonly terms: Float64Array = new Float64Array(MAX_MPS_CLIENTS * RunField.stride)
}

/** Assumed relative size of the step before the first one. */
export const STEP_BEFORE = 3e-3
export const MAX_STEPS = 60

/**
 * Whether a third-order search may end with this step. Both steps are relative to the searched value. A step e leaves
 * an error of K e^3, so the last two steps give K, and with it the error after this step. The first condition ensures
 * that the derivatives are still valid at the new point.
 */
export function isLastStep(step: number, before: number): boolean {
  const part = step / before
  return step <= 3e-4 && step * part * part * part <= 1e-13
}

/**
 * Fill a mix with a list of tenants.
 *
 * @param records records of the kinds
 * @param offsets offsets of the tenants' kinds in the records; the first `count` are read
 */
export function prepare(
  board: BoardConstants,
  records: Float64Array,
  offsets: ArrayLike<number>,
  count: number,
  memIndex: number,
  mix: Mix,
): void {
  const { terms } = mix
  let traffic = 0
  let launch = 0
  let host = 0
  let mbPerMs = 0
  let speedVariance = 0
  let powerVariance = 0
  let runs = 0
  for (let i = 0; i < count; i++) {
    const kind = offsets[i]!
    traffic += records[kind + at.trafficMb]!
    launch += records[kind + at.launchDemand]!
    host += records[kind + at.hostDemand]!
    mbPerMs += records[kind + at.mbPerMs]!
    speedVariance += records[kind + at.speedVariance]!
    powerVariance += records[kind + at.powerVariance]!
    if (i > 0 && kind === mix.kinds[runs - 1]!) terms[(runs - 1) * RunField.stride + RunField.length]!++
    else {
      mix.kinds[runs] = kind
      terms[runs * RunField.stride + RunField.length] = 1
      runs++
    }
  }
  mix.tenants = count
  mix.runs = runs
  mix.speedSd = Math.sqrt(speedVariance / count)
  mix.powerSd = Math.sqrt(powerVariance / count)
  enterMemory(board, mix, memIndex, traffic)
  for (let r = 0; r < runs; r++) enterRun(board, records, mix, r, launch, host)
  solveTopSlowdown(board, records, mix, mbPerMs)
}

/** Buffer for a mix that contains only the tenant whose record is being written. */
const alone = new Mix()
alone.runs = 1
alone.terms[RunField.length] = 1
const uncorrected: KindCorrections = {
  deviceSpeed: 1,
  hostSpeed: 1,
  dynamicPower: 1,
  speedVariance: 0,
  powerVariance: 0,
}

/** Write the record of a kind. Its demands when it runs alone follow from a mix of this tenant without corrections. */
export function writeKind(
  board: BoardConstants,
  network: NetworkParameters,
  kind: Pick<TenantKind, 'network' | 'sms' | 'batchSize'>,
  records: Float64Array,
  offset: number,
  corrections: KindCorrections = uncorrected,
): void {
  writeRecord(board, network, kind, uncorrected, records, offset)
  records[offset + at.launchDemand] = 0
  records[offset + at.hostDemand] = 0
  const megabytes = records[offset + at.trafficMb]!
  const hostMs = records[offset + at.hostMs]!
  alone.kinds[0] = offset
  enterMemory(board, alone, 0, megabytes)
  enterRun(board, records, alone, 0, 0, 0)
  batchesAtTop(records, alone, 1, drawn)
  const batchMs = alone.terms[RunField.topMs]!
  writeRecord(board, network, kind, corrections, records, offset)
  records[offset + at.launchDemand] = network.launchMs / batchMs
  records[offset + at.hostDemand] = hostMs / batchMs
  records[offset + at.mbPerMs] = megabytes / batchMs
}

/** Set the cache miss rate, which rises with the traffic of all tenants, and the resulting time per MB. */
function enterMemory(board: BoardConstants, mix: Mix, memIndex: number, trafficMb: number): void {
  mix.memIndex = memIndex
  mix.missPart = trafficMb / (trafficMb + board.parameters.cacheReachMb)
  mix.msPerMb = board.msPerMb[memIndex]! * mix.missPart
}

/**
 * Write the effect of the other tenants on a run. The demand of each tenant is the demand when it runs alone at the top
 * clocks.
 *
 * @param launch launch demand, summed over all tenants
 * @param host demand of the rest of the host's work, summed over all tenants
 */
function enterRun(
  { parameters: { launchClients, hostClients }, topClockMhz }: BoardConstants,
  records: Float64Array,
  { kinds, terms, missPart, msPerMb }: Mix,
  r: number,
  launch: number,
  host: number,
): void {
  const o = r * RunField.stride
  const kind = kinds[r]!
  const launchOthers = launch - records[kind + at.launchDemand]!
  const hostOthers = host - records[kind + at.hostDemand]!
  const ownCycles = records[kind + at.ownCycles]! * missPart
  const ownMsPerMb = smoothMax2(ownCycles * (1 / topClockMhz), msPerMb)
  const load = (1 + launchOthers) / launchClients
  const launches = 1 + load * load * load * load
  terms[o + RunField.ownCycles] = ownCycles
  terms[o + RunField.launchOthers] = launchOthers / launchClients
  terms[o + RunField.hostOthers] = (hostOthers * records[kind + at.hostSlowdown]!) / hostClients
  terms[o + RunField.topMixedMs] = records[kind + at.mixedMb]! * ownMsPerMb
  terms[o + RunField.topStreamMs] = records[kind + at.streamMb]! * ownMsPerMb
  terms[o + RunField.topLaunchMs8] = records[kind + at.launchMs8]! * launches * launches
}

/**
 * Compute the batch time of each run at the top clock, and its derivatives with respect to the DRAM slowdown. `movePaces`
 * has the same equations for lower clocks.
 *
 *     device    t_d = max_2(cycles, mixed x slowdown) + stream x slowdown + gap
 *     launch    t_l = launch x max_4(1, own + pace x others), where the others' pace is 1 at the top clock
 *     unqueued  t_u = max_8(t_d, t_l) + host
 *     batch     t   = max_8(t_u, hostShare + hostOthers x t_u at the top clock)
 *
 * with max_n(a, b) = (a^n + b^n)^(1/n). A tenant's own launch demand counts as 1, its maximum, so that a higher demand
 * never slows it down. The last line is the capacity of the host: if tenants keep their proportions, no batch ends
 * before the host has served every tenant. For M = S^(1/8) the derivatives are M' = M S' / (8 S) and M'' = M (S'' -
 * 7/8 S'^2 / S) / (8 S).
 *
 * @param drawn receives the memory traffic of the mix, MB/ms, and its first and second derivative
 */
function batchesAtTop(records: Float64Array, { runs, kinds, terms }: Mix, slowdown: number, drawn: Float64Array): void {
  let demand = 0
  let slope = 0
  let bend = 0
  for (let r = 0; r < runs; r++) {
    const o = r * RunField.stride
    const kind = kinds[r]!
    const mixedMs = terms[o + RunField.topMixedMs]!
    const streamMs = terms[o + RunField.topStreamMs]!
    const slowedMs = mixedMs * slowdown
    const overlapped = Math.sqrt(records[kind + at.topCycles2]! + slowedMs * slowedMs)
    const device = overlapped + streamMs * slowdown + records[kind + at.gapMs]!
    const perOverlapped = 1 / overlapped
    const mixedPart = slowedMs * perOverlapped
    const deviceSlope = mixedPart * mixedMs + streamMs
    const deviceBend = mixedMs * mixedMs * (1 - mixedPart * mixedPart) * perOverlapped

    const device2 = device * device
    const device6 = device2 * device2 * device2
    const sum = device6 * device2 + terms[o + RunField.topLaunchMs8]!
    const longer = Math.sqrt(Math.sqrt(Math.sqrt(sum)))
    const perSum = 1 / sum
    const rise = device6 * device * deviceSlope * perSum
    const unqueued = longer + records[kind + at.hostMs]!
    const unqueuedSlope = longer * rise
    const unqueuedBend =
      longer * (device6 * (7 * deviceSlope * deviceSlope + device * deviceBend) * perSum - 7 * rise * rise)

    const hostOthers = terms[o + RunField.hostOthers]!
    const served = records[kind + at.hostShareMs]! + hostOthers * unqueued
    const unqueued2 = unqueued * unqueued
    const unqueued6 = unqueued2 * unqueued2 * unqueued2
    const served2 = served * served
    const served6 = served2 * served2 * served2
    const queue = unqueued6 * unqueued2 + served6 * served2
    const batch = Math.sqrt(Math.sqrt(Math.sqrt(queue)))
    const perQueue = 1 / queue
    const longerBy = (unqueued6 * unqueued + served6 * served * hostOthers) * perQueue
    const bendBy = 7 * (unqueued6 + served6 * hostOthers * hostOthers) * perQueue - 7 * longerBy * longerBy
    terms[o + RunField.topDeviceMs] = device
    terms[o + RunField.topDeviceMs + 1] = deviceSlope
    terms[o + RunField.topDeviceMs + 2] = deviceBend
    terms[o + RunField.topUnqueuedMs] = unqueued
    terms[o + RunField.topUnqueuedMs + 1] = unqueuedSlope
    terms[o + RunField.topUnqueuedMs + 2] = unqueuedBend
    const batchRise = longerBy * unqueuedSlope
    const batchBend = bendBy * unqueuedSlope * unqueuedSlope + longerBy * unqueuedBend
    terms[o + RunField.topMs] = batch
    terms[o + RunField.topMs + 1] = batch * batchRise
    terms[o + RunField.topMs + 2] = batch * batchBend
    const mbPerMs = (terms[o + RunField.length]! * records[kind + at.trafficMb]!) / batch
    demand += mbPerMs
    slope -= mbPerMs * batchRise
    bend += mbPerMs * (2 * batchRise * batchRise - batchBend)
  }
  drawn[0] = demand
  drawn[1] = slope
  drawn[2] = bend
}

/** Buffer for what `batchesAtTop` writes. */
const drawn = new Float64Array(3)

/**
 * Solve for the DRAM slowdown y >= 1 at which demand meets supply at the top clock: y = 1 / (1 - (D(y) / ceiling)^2), where D
 * is the fraction of the peak bandwidth that the tenants draw. D falls as y rises, so there is exactly one solution.
 * Halley's method searches within a bracket. It starts from the solution for D proportional to 1 / sqrt(y).
 *
 * @param mbPerMs memory traffic summed over the tenants, each running alone, MB/ms
 */
function solveTopSlowdown(board: BoardConstants, records: Float64Array, mix: Mix, mbPerMs: number): void {
  const ceiling = board.parameters.bandwidthCeiling
  const scale = mix.msPerMb / ceiling
  const demandAlone = mbPerMs * scale
  let high = Number.MAX_VALUE
  let low = 1
  let slowdown = 1 + demandAlone * demandAlone
  let before = STEP_BEFORE
  for (let steps = 0; ; steps++) {
    batchesAtTop(records, mix, slowdown, drawn)
    const demand = drawn[0]! * scale
    const slope = drawn[1]! * scale
    const bend = drawn[2]! * scale
    const square = demand * demand
    const squareSlope = 2 * demand * slope
    const value = slowdown - slowdown * square - 1
    const rise = 1 - square - slowdown * squareSlope
    const bow = -2 * squareSlope - 2 * slowdown * (slope * slope + demand * bend)
    if (value > 0) high = slowdown
    else low = slowdown
    const step = (-value * rise) / (rise * rise - 0.5 * value * bow)
    const next = slowdown + step
    const inside = next >= low && next <= high
    const moved = Math.abs(step) / slowdown
    if ((inside && isLastStep(moved, before)) || steps === MAX_STEPS) {
      enterTopSlowdown(records, mix, next, step)
      return
    }
    before = moved
    slowdown = inside ? next : Math.min(2 * slowdown, 0.5 * (low + high))
  }
}

/** Store the slowdown, and extrapolate each run's times to it from `slowdown - step`, to second order. */
function enterTopSlowdown(records: Float64Array, mix: Mix, slowdown: number, step: number): void {
  const { terms } = mix
  mix.topSlowdown = slowdown
  mix.topDemand = 1 - 1 / slowdown
  for (let r = 0; r < mix.runs; r++) {
    const o = r * RunField.stride
    for (let time = o + RunField.topDeviceMs; time <= o + RunField.topMs; time += 3) {
      terms[time]! += step * (terms[time + 1]! + 0.5 * step * terms[time + 2]!)
    }
    const kind = mix.kinds[r]!
    const topMs = terms[o + RunField.topMs]!
    const unqueued = terms[o + RunField.topUnqueuedMs]!
    const served = records[kind + at.hostShareMs]! + terms[o + RunField.hostOthers]! * unqueued
    const part = (unqueued * terms[o + RunField.topDeviceMs]!) / (topMs * (unqueued - records[kind + at.hostMs]!))
    const part2 = part * part
    const served2 = served * served
    const topMs2 = topMs * topMs
    terms[o + RunField.servedMs8] = served2 * served2 * served2 * served2
    terms[o + RunField.topMs8] = topMs2 * topMs2 * topMs2 * topMs2
    // For a host's queue that stays as it is.
    terms[o + RunField.topPerDevice] = part2 * part2 * part2 * part
  }
}

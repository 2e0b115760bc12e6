import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import { type BoardConstants, smoothMax2 } from './board-constants.js'
import { correctionLayout, tenantNode, tenantNodePart } from './corrections.js'
import type { NetworkParameters } from './parameters.js'
import { tenantLayout as at, type TenantKind, writeTenantCoefficients } from './tenant-coefficients.js'

/** Coefficients and corrections of all known kinds of tenants. */
export interface KindArrays {
  /** `tenantLayout.stride` numbers per kind. */
  readonly coefficients: Float64Array
  /**
   * Corrections in the order of `correctionLayout`. Those of kind k and memory clock m begin at `(k * memory clocks +
   * m) * stride`.
   */
  readonly corrections: Float64Array
}

/**
 * Indices of the values that describe a run. A run is one tenant, or several consecutive tenants of one kind, which
 * share one solution. The values determine the run's batch time at any clock, including corrections and the effect of
 * the other tenants.
 */
export const runLayout = {
  /** Clock-bound device time, ms x MHz. */
  cycles: 0,
  /** Memory traffic that overlaps with arithmetic, MB, divided by the factor on the device's speed. */
  mixedMb: 1,
  /** Memory traffic without overlap, MB, divided by the same factor. */
  streamMb: 2,
  /** Time that the tenant's own SMs need per MB, ms x MHz. */
  ownCycles: 3,
  /** Device time per batch that no clock changes, ms. */
  gapMs: 4,
  /** Launch time of a batch to the eighth power, ms^8. */
  launchMs8: 5,
  /**
   * Launch demand of the other tenants, as a fraction of the host's launch capacity. The demand of each tenant is the
   * demand when it runs alone at the top clocks.
   */
  launchOthers: 6,
  hostMs: 7,
  /** The tenant's own part of the time in which the host serves one batch of every tenant at the top clock, ms. */
  hostShareMs: 8,
  /** The other tenants' part of that time, per ms of this tenant's batch time without the host's queue. */
  hostOthers: 9,
  /** Eighth power of the time that the host needs at the top clock to serve this tenant and the others, ms^8. */
  servedMs8: 10,
  /** Batch time at the top clock, ms. */
  topMs: 11,
  /** Part of `topMs` that the batch spends on the device, ms. */
  topDeviceMs: 12,
  /** Batch time at the top clock without the host's queue, ms. */
  topUnqueuedMs: 13,
  /** Number of tenants in the run. */
  length: 14,
  /** Factor on the dynamic power. */
  watts: 15,
  stride: 16,
} as const

const run = runLayout

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
  /** Price of DRAM access at the top clock: the factor by which contention lengthens an access. */
  topPrice = 1
  /** Square of the ratio of the DRAM demand at the top clock to the bandwidth ceiling, 0..1. */
  topDemand = 0
  /**
   * Standard deviation of ln(throughput), and as `powerSd` of ln(power), due to uncertain parameters and corrections.
   */
  speedSd = 0
  powerSd = 0
  /** Offset of each run's kind in the coefficients. */
  readonly kinds: Int32Array = new Int32Array(MAX_MPS_CLIENTS)
  /** Values of `runLayout` for each run of identical tenants. Run `r` starts at the index `r * run.stride`. */
  readonly terms: Float64Array = new Float64Array(MAX_MPS_CLIENTS * run.stride)
}

/** Assumed relative size of the step before the first one. */
export const STEP_BEFORE = 3e-3
const MAX_STEPS = 60

/**
 * Whether a third-order search may end with this step. Both steps are relative to the searched value. A step e leaves
 * an error of K e^3, so the last two steps give K, and with it the error after this step. The first condition ensures
 * that the derivatives are still valid at the new point.
 */
export function isLastStep(step: number, before: number): boolean {
  const part = step / before
  return step <= 3e-4 && step * part * part * part <= 1e-11
}

/**
 * Scratch layout of the price search. Each run has device terms at the top clock, and device, unqueued and batch time,
 * each with its first and second derivative with respect to the price.
 */
const top = { cycles2: 0, mixedMs: 1, streamMs: 2, launch8: 3, device: 4, unqueued: 7, batch: 10, stride: 13 } as const
const scratch = new Float64Array(MAX_MPS_CLIENTS * top.stride)

/**
 * Fill a mix with a list of tenants.
 *
 * @param offsets offsets of the tenants' kinds in the coefficients; the first `count` are read
 */
export function prepare(
  board: BoardConstants,
  kinds: KindArrays,
  offsets: ArrayLike<number>,
  count: number,
  memIndex: number,
  mix: Mix,
): void {
  const { coefficients: c, corrections } = kinds
  const { terms } = mix
  let traffic = 0
  let launch = 0
  let host = 0
  let mbPerMs = 0
  let runs = 0
  for (let i = 0; i < count; i++) {
    const offset = offsets[i]!
    traffic += c[offset + at.mixedMb]! + c[offset + at.streamMb]!
    launch += c[offset + at.launchDemand]!
    host += c[offset + at.hostDemand]!
    mbPerMs += c[offset + at.mbPerMs]!
    if (i > 0 && offset === mix.kinds[runs - 1]!) terms[(runs - 1) * run.stride + run.length]!++
    else {
      mix.kinds[runs] = offset
      terms[runs * run.stride + run.length] = 1
      runs++
    }
  }
  mix.tenants = count
  mix.runs = runs
  enterMemory(board, mix, memIndex, traffic)
  let speeds = 0
  let speedVariance = 0
  let powerVariance = 0
  for (let r = 0; r < runs; r++) {
    const o = r * run.stride
    const length = terms[o + run.length]!
    const offset = mix.kinds[r]!
    const first = correctionsOf(board, offset, memIndex)
    const deviceSpeed = atTenants(corrections, first + correctionLayout.deviceSpeed, count)
    const hostSpeed = atTenants(corrections, first + correctionLayout.hostSpeed, count)
    const launchOthers = launch - c[offset + at.launchDemand]!
    const hostOthers = host - c[offset + at.hostDemand]!
    writeTerms(board, c, mix, r, offset, deviceSpeed, hostSpeed, launchOthers, hostOthers)
    terms[o + run.watts] = atTenants(corrections, first + correctionLayout.dynamicPower, count)
    speeds += length * deviceSpeed
    speedVariance += length * atTenants(corrections, first + correctionLayout.speedVariance, count)
    powerVariance += length * atTenants(corrections, first + correctionLayout.powerVariance, count)
  }
  mix.speedSd = Math.sqrt(speedVariance / count)
  mix.powerSd = Math.sqrt(powerVariance / count)
  solveTopPrice(board, kinds, mix, mbPerMs, speeds)
}

/** Write a kind's coefficients without corrections, and its demands when it runs alone at the top clocks. */
export function writeKind(
  board: BoardConstants,
  network: NetworkParameters,
  kind: TenantKind,
  c: Float64Array,
  offset: number,
): void {
  writeTenantCoefficients(board, network, kind, c, offset)
  const mix = new Mix()
  const megabytes = c[offset + at.mixedMb]! + c[offset + at.streamMb]!
  enterMemory(board, mix, 0, megabytes)
  writeTerms(board, c, mix, 0, offset, 1, 1, 0, 0)
  batchAtTop(mix.terms, 0, 1)
  const batchMs = scratch[top.batch]!
  c[offset + at.launchDemand] = c[offset + at.launchMs]! / batchMs
  c[offset + at.hostDemand] = c[offset + at.hostMs]! / batchMs
  c[offset + at.mbPerMs] = megabytes / batchMs
}

/** Offset of a kind's corrections at a memory clock. */
export function correctionsOf(board: BoardConstants, offset: number, memIndex: number): number {
  return ((offset / at.stride) * board.memClocksMhz.length + memIndex) * correctionLayout.stride
}

/** Correction for a number of tenants, interpolated between two nodes. */
export function atTenants(corrections: Float64Array, first: number, tenants: number): number {
  const node = first + tenantNode[tenants]!
  return corrections[node]! + tenantNodePart[tenants]! * (corrections[node + 1]! - corrections[node]!)
}

/** Set the cache miss rate, which rises with the traffic of all tenants, and the resulting time per MB. */
function enterMemory(board: BoardConstants, mix: Mix, memIndex: number, trafficMb: number): void {
  mix.memIndex = memIndex
  mix.missPart = trafficMb / (trafficMb + board.parameters.cacheReachMb)
  mix.msPerMb = board.msPerMb[memIndex]! * mix.missPart
}

/**
 * Write a run's terms: its coefficients, with each stage divided by its speed factor, and the demands of the other
 * tenants.
 */
function writeTerms(
  { parameters: { launchClients, hostClients }, topClockMhz }: BoardConstants,
  c: Float64Array,
  { terms, missPart, msPerMb }: Mix,
  r: number,
  kind: number,
  deviceSpeed: number,
  hostSpeed: number,
  launchOthers: number,
  hostOthers: number,
): void {
  const o = r * run.stride
  const s = r * top.stride
  const slower = 1 / deviceSpeed
  const served = 1 / hostSpeed
  const cycles = c[kind + at.cycles]! * slower
  const mixedMb = c[kind + at.mixedMb]! * slower
  const streamMb = c[kind + at.streamMb]! * slower
  const ownCycles = c[kind + at.ownCycles]! * missPart
  const launchMs2 = (c[kind + at.launchMs]! * served) ** 2
  const launchMs8 = launchMs2 * launchMs2 * launchMs2 * launchMs2
  terms[o + run.cycles] = cycles
  terms[o + run.mixedMb] = mixedMb
  terms[o + run.streamMb] = streamMb
  terms[o + run.ownCycles] = ownCycles
  terms[o + run.gapMs] = c[kind + at.gapMs]! * slower
  terms[o + run.launchMs8] = launchMs8
  terms[o + run.launchOthers] = launchOthers / launchClients
  terms[o + run.hostMs] = c[kind + at.hostMs]! * served
  terms[o + run.hostShareMs] = (c[kind + at.hostMs]! * served) / hostClients
  terms[o + run.hostOthers] = (hostOthers * served) / hostClients

  const perMhz = 1 / topClockMhz
  const cyclesMs = cycles * perMhz
  const ownMsPerMb = smoothMax2(ownCycles * perMhz, msPerMb)
  const load = (1 + launchOthers) / launchClients
  const sum = 1 + load * load * load * load
  scratch[s + top.cycles2] = cyclesMs * cyclesMs
  scratch[s + top.mixedMs] = mixedMb * ownMsPerMb
  scratch[s + top.streamMs] = streamMb * ownMsPerMb
  scratch[s + top.launch8] = launchMs8 * sum * sum
}

/**
 * Compute the batch time of a run at the top clock, and its derivatives with respect to the price. `solve` has the same
 * equations for lower clocks.
 *
 *     device    t_d = max_2(cycles, mixed x price) + stream x price + gap
 *     launch    t_l = launch x max_4(1, own + pace x others), where the others' pace is 1 at the top clock
 *     unqueued  t_u = max_8(t_d, t_l) + host
 *     batch     t   = max_8(t_u, hostShare + hostOthers x t_u at the top clock)
 *
 * with max_n(a, b) = (a^n + b^n)^(1/n). A tenant's own launch demand counts as 1, its maximum, so that a higher demand
 * never slows it down. The last line is the capacity of the host: if tenants keep their proportions, no batch ends
 * before the host has served every tenant. For M = S^(1/8) the derivatives are M' = M S' / (8 S) and M'' = M (S'' -
 * 7/8 S'^2 / S) / (8 S).
 */
function batchAtTop(terms: Float64Array, r: number, price: number): void {
  const o = r * run.stride
  const s = r * top.stride
  const mixedMs = scratch[s + top.mixedMs]!
  const streamMs = scratch[s + top.streamMs]!
  const pricedMs = mixedMs * price
  const overlapped = Math.sqrt(scratch[s + top.cycles2]! + pricedMs * pricedMs)
  const device = overlapped + streamMs * price + terms[o + run.gapMs]!
  const perOverlapped = 1 / overlapped
  const mixedPart = pricedMs * perOverlapped
  const deviceSlope = mixedPart * mixedMs + streamMs
  const deviceBend = mixedMs * mixedMs * (1 - mixedPart * mixedPart) * perOverlapped

  const device2 = device * device
  const device6 = device2 * device2 * device2
  const sum = device6 * device2 + scratch[s + top.launch8]!
  const longer = Math.sqrt(Math.sqrt(Math.sqrt(sum)))
  const perSum = 1 / sum
  const rise = device6 * device * deviceSlope * perSum
  const unqueued = longer + terms[o + run.hostMs]!
  const unqueuedSlope = longer * rise
  const unqueuedBend =
    longer * (device6 * (7 * deviceSlope * deviceSlope + device * deviceBend) * perSum - 7 * rise * rise)

  const hostOthers = terms[o + run.hostOthers]!
  const served = terms[o + run.hostShareMs]! + hostOthers * unqueued
  const unqueued2 = unqueued * unqueued
  const unqueued6 = unqueued2 * unqueued2 * unqueued2
  const served2 = served * served
  const served6 = served2 * served2 * served2
  const queue = unqueued6 * unqueued2 + served6 * served2
  const batch = Math.sqrt(Math.sqrt(Math.sqrt(queue)))
  const perQueue = 1 / queue
  const longerBy = (unqueued6 * unqueued + served6 * served * hostOthers) * perQueue
  const bendBy = 7 * (unqueued6 + served6 * hostOthers * hostOthers) * perQueue - 7 * longerBy * longerBy
  scratch[s + top.device] = device
  scratch[s + top.device + 1] = deviceSlope
  scratch[s + top.device + 2] = deviceBend
  scratch[s + top.unqueued] = unqueued
  scratch[s + top.unqueued + 1] = unqueuedSlope
  scratch[s + top.unqueued + 2] = unqueuedBend
  scratch[s + top.batch] = batch
  scratch[s + top.batch + 1] = batch * longerBy * unqueuedSlope
  scratch[s + top.batch + 2] = batch * (bendBy * unqueuedSlope * unqueuedSlope + longerBy * unqueuedBend)
}

/**
 * Solve for the price y >= 1 at which demand meets supply at the top clock: y = 1 / (1 - (D(y) / ceiling)^2), where D
 * is the fraction of the peak bandwidth that the tenants draw. D falls as y rises, so there is exactly one solution.
 * Halley's method searches within a bracket. It starts from the solution for D proportional to 1 / sqrt(y).
 *
 * @param mbPerMs memory traffic summed over the tenants, each running alone, MB/ms
 * @param speeds factors on the device's speed, summed over the tenants
 */
function solveTopPrice(board: BoardConstants, kinds: KindArrays, mix: Mix, mbPerMs: number, speeds: number): void {
  const c = kinds.coefficients
  const { terms, runs } = mix
  const ceiling = board.parameters.bandwidthCeiling
  const scale = mix.msPerMb / ceiling
  const alone = mbPerMs * scale
  // A tenant draws at most speed / (ceiling x price) of the ceiling, so y <= 1 + speeds / ceiling.
  let high = 1 + Math.max(MAX_MPS_CLIENTS, speeds) / ceiling
  let low = 1
  let price = Math.min(1 + alone * alone, high)
  let before = STEP_BEFORE
  for (let steps = 0; ; steps++) {
    let demand = 0
    let slope = 0
    let bend = 0
    for (let r = 0; r < runs; r++) {
      batchAtTop(terms, r, price)
      const kind = mix.kinds[r]!
      const s = r * top.stride + top.batch
      const perBatch = 1 / scratch[s]!
      const megabytes = terms[r * run.stride + run.length]! * (c[kind + at.mixedMb]! + c[kind + at.streamMb]!)
      const drawn = megabytes * perBatch * scale
      const longer = scratch[s + 1]! * perBatch
      demand += drawn
      slope -= drawn * longer
      bend += drawn * (2 * longer * longer - scratch[s + 2]! * perBatch)
    }
    const square = demand * demand
    const squareSlope = 2 * demand * slope
    const value = price - price * square - 1
    const rise = 1 - square - price * squareSlope
    const bow = -2 * squareSlope - 2 * price * (slope * slope + demand * bend)
    if (value > 0) high = price
    else low = price
    const step = (-value * rise) / (rise * rise - 0.5 * value * bow)
    const inside = price + step >= low && price + step <= high
    const moved = Math.abs(step) / price
    if ((inside && isLastStep(moved, before)) || steps === MAX_STEPS) {
      enterTop(mix, price + step, step)
      return
    }
    before = moved
    price = inside ? price + step : 0.5 * (low + high)
  }
}

/** Store the price, and each run's times at that price. The scratch holds the times at `price - step`. */
function enterTop(mix: Mix, price: number, step: number): void {
  const { terms } = mix
  mix.topPrice = price
  mix.topDemand = 1 - 1 / price
  for (let r = 0; r < mix.runs; r++) {
    const o = r * run.stride
    const s = r * top.stride
    const unqueued = after(s + top.unqueued, step)
    const served = terms[o + run.hostShareMs]! + terms[o + run.hostOthers]! * unqueued
    const served2 = served * served
    terms[o + run.servedMs8] = served2 * served2 * served2 * served2
    terms[o + run.topUnqueuedMs] = unqueued
    terms[o + run.topDeviceMs] = after(s + top.device, step)
    terms[o + run.topMs] = after(s + top.batch, step)
  }
}

/** Extrapolate a scratch value along the price, to second order. */
function after(at: number, step: number): number {
  return scratch[at]! + step * (scratch[at + 1]! + 0.5 * step * scratch[at + 2]!)
}

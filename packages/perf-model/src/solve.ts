import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import { type BoardConstants, relativeVoltage, smoothMax2 } from './board-constants.js'
import { isLastStep, type KindArrays, type Mix, runLayout as run, STEP_BEFORE } from './mix.js'
import { tenantLayout as at } from './tenant-coefficients.js'

/** Performance of a mix at one SM clock. */
export class Solution {
  totalThroughput = 0
  powerW = 0
  smUtilPercent = 0
  memUtilPercent = 0
  /** Throughput of each tenant, samples/s. */
  readonly throughput: Float64Array = new Float64Array(MAX_MPS_CLIENTS)
  /** Time from the start to the end of a batch, for each tenant, ms. */
  readonly latencyMs: Float64Array = new Float64Array(MAX_MPS_CLIENTS)
  /** Dynamic power of each tenant, W. */
  readonly dynamicW: Float64Array = new Float64Array(MAX_MPS_CLIENTS)
  /** Fraction of the time that each tenant is on the device, 0..1. */
  readonly duty: Float64Array = new Float64Array(MAX_MPS_CLIENTS)
}

const MAX_STEPS = 60
/**
 * Scratch layout of the pace search. The pace of a run is its batch time at the top clock divided by its batch time at
 * the present clock. Each run has device terms at the clock, the pace with its bracket and last step, and finally the
 * device time.
 */
const pace = {
  cycles2: 0,
  mixedMs: 1,
  streamMs: 2,
  topMs8: 3,
  pace: 4,
  low: 5,
  high: 6,
  deviceMs: 7,
  before: 8,
  stride: 9,
} as const
const scratch = new Float64Array(MAX_MPS_CLIENTS * pace.stride)

/**
 * Evaluate a mix at one SM clock, at most the top clock.
 *
 * Below the top clock, each tenant assumes that all others slow down in the same proportion as itself: its batch time
 * is t = T(price(pace), pace) with pace = t(top) / t. This is exact for like tenants. For unlike tenants, it ensures
 * that every tenant's throughput rises with the clock. The joint equilibrium would not ensure that: a tenant that waits
 * for memory would lose when the clock of the others rises.
 */
export function solve(board: BoardConstants, kinds: KindArrays, mix: Mix, smClockMhz: number, out: Solution): void {
  const c = kinds.coefficients
  const { terms } = mix
  const { parameters, boostClockMhz, idlePowerW } = board
  if (smClockMhz < board.topClockMhz) solvePaces(mix, 1 / parameters.launchClients, smClockMhz)
  else enterTopClock(mix)
  const clock = smClockMhz / boostClockMhz
  const voltage = relativeVoltage(parameters, clock)
  const square = voltage * voltage
  const treeW = (square * clock * parameters.clockTreePowerW) / mix.tenants
  const smW = square * clock * parameters.smPowerW
  let total = 0
  let dynamicW = 0
  let noneBusy = 1
  let counted = 0
  let i = 0
  for (let r = 0; r < mix.runs; r++) {
    const o = r * run.stride
    const kind = mix.kinds[r]!
    const length = terms[o + run.length]!
    const batchMs = terms[o + run.topMs]! / scratch[r * pace.stride + pace.pace]!
    const duty = Math.min(1, scratch[r * pace.stride + pace.deviceMs]! / batchMs)
    const rate = 1e3 / batchMs
    const throughput = rate * c[kind + at.batchSize]!
    const idle = 1 - duty
    const mw = rate * (square * c[kind + at.coreEnergyMj]! + mix.missPart * c[kind + at.memoryEnergyMj]!)
    const watts = terms[o + run.watts]! * (treeW + smW * duty * c[kind + at.sms]! + 1e-3 * mw)
    for (let k = 0; k < length; k++) {
      out.dynamicW[i] = watts
      out.duty[i] = duty
      out.latencyMs[i] = batchMs
      out.throughput[i++] = throughput
      noneBusy *= idle
    }
    total += length * throughput
    dynamicW += length * watts
    counted += (length * c[kind + at.countedMb]!) / batchMs
  }
  out.totalThroughput = total
  out.powerW = idlePowerW[mix.memIndex]! + dynamicW
  out.smUtilPercent = 100 * (1 - noneBusy)
  out.memUtilPercent = 100 * (1 - Math.exp(-counted * mix.msPerMb))
}

function enterTopClock({ terms, runs }: Mix): void {
  for (let r = 0; r < runs; r++) {
    scratch[r * pace.stride + pace.pace] = 1
    scratch[r * pace.stride + pace.deviceMs] = terms[r * run.stride + run.topDeviceMs]!
  }
}

/**
 * Solve for the pace x in (0, 1] at which each run's batch takes topMs / x. The batch time follows the equations of
 * `batchAtTop` at the price 1 / (1 - topDemand x^2), with the other tenants at the same pace. In eighth powers, the
 * last maximum needs no root: x^8 (t_u^8 + served^8) = topMs^8. The logarithm of the left side is nearly linear in ln
 * x. Chebyshev's method solves for ln x within a bracket, starting from the slowdown of the device's part alone. The
 * runs are iterated in an interleaved loop, because a CPU overlaps independent iterations.
 */
function solvePaces({ terms, runs, msPerMb, topPrice, topDemand }: Mix, launchOwn: number, smClockMhz: number): void {
  const perMhz = 1 / smClockMhz
  for (let r = 0; r < runs; r++) {
    const o = r * run.stride
    const s = r * pace.stride
    const cyclesMs = terms[o + run.cycles]! * perMhz
    const ownMsPerMb = smoothMax2(terms[o + run.ownCycles]! * perMhz, msPerMb)
    const mixedMs = terms[o + run.mixedMb]! * ownMsPerMb
    const streamMs = terms[o + run.streamMb]! * ownMsPerMb
    const topMs = terms[o + run.topMs]!
    const topMs2 = topMs * topMs
    const slowest = smoothMax2(cyclesMs, mixedMs * topPrice) + streamMs * topPrice + terms[o + run.gapMs]!
    const topDeviceMs = terms[o + run.topDeviceMs]!
    scratch[s + pace.cycles2] = cyclesMs * cyclesMs
    scratch[s + pace.mixedMs] = mixedMs
    scratch[s + pace.streamMs] = streamMs
    scratch[s + pace.topMs8] = topMs2 * topMs2 * topMs2 * topMs2
    scratch[s + pace.pace] = (topMs * topMs) / (topMs * topMs + (slowest - topDeviceMs) * topDeviceMs)
    scratch[s + pace.low] = 0
    scratch[s + pace.high] = 1
    scratch[s + pace.before] = STEP_BEFORE
    scratch[s + pace.deviceMs] = 0
  }
  for (let steps = 0, open = true; open; steps++) {
    open = false
    for (let r = 0; r < runs; r++) {
      const o = r * run.stride
      const s = r * pace.stride
      if (scratch[s + pace.deviceMs] !== 0) continue
      const x = scratch[s + pace.pace]!
      const mixedMs = scratch[s + pace.mixedMs]!
      const streamMs = scratch[s + pace.streamMs]!
      const launchMs8 = terms[o + run.launchMs8]!
      const others = terms[o + run.launchOthers]!

      const price = 1 / (1 - topDemand * x * x)
      const priceSlope = 2 * topDemand * x * price * price
      const priceBend = 2 * topDemand * price * (price + 2 * x * priceSlope)
      const pricedMs = mixedMs * price
      const overlapped = Math.sqrt(scratch[s + pace.cycles2]! + pricedMs * pricedMs)
      const perOverlapped = 1 / overlapped
      const mixedPart = pricedMs * perOverlapped
      const perPrice = mixedPart * mixedMs + streamMs
      const steeper = mixedMs * priceSlope
      const device = overlapped + streamMs * price + terms[o + run.gapMs]!
      const deviceSlope = perPrice * priceSlope
      const deviceBend = perPrice * priceBend + steeper * steeper * (1 - mixedPart * mixedPart) * perOverlapped

      const load = launchOwn + x * others
      const load2 = load * load
      const launches = 1 + load2 * load2
      const device2 = device * device
      const device6 = device2 * device2 * device2
      const sum = device6 * device2 + launchMs8 * launches * launches
      const perSum = 1 / sum
      const longer = Math.sqrt(Math.sqrt(Math.sqrt(sum)))
      const rise = (device6 * device * deviceSlope + launchMs8 * launches * load2 * load * others) * perSum
      const bow =
        (device6 * (7 * deviceSlope * deviceSlope + device * deviceBend) +
          launchMs8 * load2 * others * others * (3 * launches + 4 * load2 * load2)) *
        perSum
      const unqueued = longer + terms[o + run.hostMs]!
      const slope = longer * rise
      const bend = longer * (bow - 7 * rise * rise)

      const unqueued2 = unqueued * unqueued
      const unqueued6 = unqueued2 * unqueued2 * unqueued2
      const queue = unqueued6 * unqueued2 + terms[o + run.servedMs8]!
      const x2 = x * x
      const x8 = x2 * x2 * x2 * x2
      const inverse = 1 / (x8 * queue)
      const perQueue = x8 * inverse
      // One eighth of the derivatives of ln(x^8 queue) with respect to ln x.
      const longerBy = x * unqueued6 * unqueued * slope * perQueue
      const logSlope = 1 + longerBy
      const logBend =
        x2 * unqueued6 * (7 * slope * slope + unqueued * bend) * perQueue - 8 * longerBy * longerBy + longerBy
      const off = scratch[s + pace.topMs8]! * inverse - 1
      if (off < 0) scratch[s + pace.high] = x
      else scratch[s + pace.low] = x
      // Pade approximation of ln(1 + off), and three terms of the exponential series.
      const divisor = 6 + 4 * off
      const per = 1 / (divisor * logSlope)
      const tangent = 0.125 * off * (6 + off) * per
      const move = tangent * (1 - 0.5 * logBend * tangent * divisor * per)
      const step = x * move * (1 + move * (1 / 2 + move * (1 / 6)))
      const next = x + step
      const low = scratch[s + pace.low]!
      const high = scratch[s + pace.high]!
      const inside = next >= low && next <= high
      scratch[s + pace.pace] = inside ? next : 0.5 * (low + high)
      const moved = Math.abs(step) / x
      if ((inside && isLastStep(moved, scratch[s + pace.before]!)) || steps === MAX_STEPS) {
        scratch[s + pace.deviceMs] = device + step * (deviceSlope + 0.5 * step * deviceBend)
      } else {
        scratch[s + pace.before] = moved
        open = true
      }
    }
  }
}

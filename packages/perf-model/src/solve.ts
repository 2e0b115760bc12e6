import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import { type BoardConstants, relativeVoltage, smoothMax2 } from './board-constants.js'
import { KindField as at } from './kind.js'
import { isLastStep, MAX_STEPS, type Mix, RunField as run, STEP_BEFORE } from './mix.js'

/** Layout of the values of a run at one SM clock, in `Solution.terms`. */
enum ClockField {
  /** Without contention for DRAM: square of the clock-bound device time, ms^2, memory time with and without overlap, ms. */
  cycles2,
  mixedMs,
  streamMs,
  /** Estimated pace, and the relative size of the last step to it. */
  pace,
  moved,
  /** Batch time, 0 until it is known, and its part on the device, ms. */
  batchMs,
  deviceMs,
  stride,
}

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
  /** Values of `ClockField` for each run of the mix. */
  readonly terms: Float64Array = new Float64Array(MAX_MPS_CLIENTS * ClockField.stride)
}

/** Number of steps after which a search takes Newton's steps. */
const NEWTON_FROM = 20

/**
 * Evaluate a mix at one SM clock, at most the top clock.
 *
 * Below the top clock, the model assumes for each tenant that all others slow down in the same proportion. The pace of a
 * tenant is its batch time at the top clock divided by its batch time at this clock. This assumption is exact for like
 * tenants. For unlike tenants, it ensures that every tenant's throughput rises with the clock. The joint equilibrium
 * would not ensure that: a tenant that waits for memory would become slower when the clock of the others rises.
 */
export function solve(board: BoardConstants, records: Float64Array, mix: Mix, smClockMhz: number, out: Solution): void {
  const { terms } = mix
  const { parameters, boostClockMhz, idlePowerW } = board
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
  enterClock(board, records, mix, smClockMhz, out.terms)
  for (let steps = 0; movePaces(board, records, mix, out.terms, steps); steps++);
  for (let r = 0; r < mix.runs; r++) {
    const kind = mix.kinds[r]!
    const length = terms[r * run.stride + run.length]!
    const batchMs = out.terms[r * ClockField.stride + ClockField.batchMs]!
    const duty = Math.min(1, out.terms[r * ClockField.stride + ClockField.deviceMs]! / batchMs)
    const rate = 1e3 / batchMs
    const throughput = rate * records[kind + at.batchSize]!
    const idle = 1 - duty
    const mw = rate * (square * records[kind + at.coreEnergyMj]! + mix.missPart * records[kind + at.memoryEnergyMj]!)
    const watts = records[kind + at.dynamicPower]! * (treeW + smW * duty * records[kind + at.sms]! + 1e-3 * mw)
    for (let k = 0; k < length; k++) {
      out.dynamicW[i] = watts
      out.duty[i] = duty
      out.latencyMs[i] = batchMs
      out.throughput[i++] = throughput
      noneBusy *= idle
    }
    total += length * throughput
    dynamicW += length * watts
    counted += (length * records[kind + at.countedMb]!) / batchMs
  }
  out.totalThroughput = total
  out.powerW = idlePowerW[mix.memIndex]! + dynamicW
  out.smUtilPercent = 100 * (1 - noneBusy)
  out.memUtilPercent = 100 * (1 - Math.exp(-counted * mix.msPerMb))
}

/**
 * Enter the times of each run at an SM clock, and a first guess of its pace, within a few percent of the solution. The guess
 * replaces the smooth maxima of a batch time by the longer of two lines: the tangent at the top clock, and the
 * unqueued time of a tenant that is bound by the device. The slowdown at the other tenants' pace follows from two
 * steps of a fixed-point iteration, extrapolated to their limit.
 */
function enterClock(
  { topClockMhz }: BoardConstants,
  records: Float64Array,
  { runs, kinds, terms, msPerMb, topSlowdown, topDemand }: Mix,
  smClockMhz: number,
  out: Float64Array,
): void {
  const perMhz = 1 / smClockMhz
  for (let r = 0; r < runs; r++) {
    const kind = kinds[r]!
    const o = r * run.stride
    const p = r * ClockField.stride
    const topMs = terms[o + run.topMs]!
    const topDeviceMs = terms[o + run.topDeviceMs]!
    if (smClockMhz >= topClockMhz) {
      out[p + ClockField.batchMs] = topMs
      out[p + ClockField.deviceMs] = topDeviceMs
      continue
    }
    const gapMs = records[kind + at.gapMs]!
    const hostMs = records[kind + at.hostMs]!
    const cyclesMs = records[kind + at.cycles]! * perMhz
    const ownMsPerMb = smoothMax2(terms[o + run.ownCycles]! * perMhz, msPerMb)
    const mixedMs = records[kind + at.mixedMb]! * ownMsPerMb
    const streamMs = records[kind + at.streamMb]! * ownMsPerMb
    const perDevice = terms[o + run.topPerDevice]!
    const slowest = smoothMax2(cyclesMs, mixedMs * topSlowdown) + streamMs * topSlowdown + gapMs
    const first = topMs / Math.max(topMs + perDevice * (slowest - topDeviceMs), slowest + hostMs)
    const slowdown = 1 / (1 - topDemand * first * first)
    const faster = smoothMax2(cyclesMs, mixedMs * slowdown) + streamMs * slowdown + gapMs
    const second = topMs / Math.max(topMs + perDevice * (faster - topDeviceMs), faster + hostMs)
    const fell = 1 - first
    const rose = second - first
    out[p + ClockField.cycles2] = cyclesMs * cyclesMs
    out[p + ClockField.mixedMs] = mixedMs
    out[p + ClockField.streamMs] = streamMs
    out[p + ClockField.pace] = fell > 1e-6 ? first + (rose * fell) / (fell + rose) : first
    out[p + ClockField.moved] = STEP_BEFORE
    out[p + ClockField.batchMs] = 0
  }
}

/**
 * Take one step towards the pace x in (0, 1] of each run, at which a batch takes topMs / x. Return whether another step is
 * needed. The batch time follows the equations of `batchesAtTop` at the DRAM slowdown 1 / (1 - topDemand x^2), with the
 * other tenants at the same pace. In eighth powers, the last maximum needs no root: x^8 (t_u^8 + served^8) = topMs^8. The
 * logarithm of the left side is nearly linear in ln x. Chebyshev's method solves for ln x. Newton's method always
 * converges: the logarithm is a convex function of ln x, because all its parts are, and its slope is at least 8.
 *
 * One step of all runs at a time is faster than one run at a time, because a processor overlaps independent steps.
 */
function movePaces(
  { parameters }: BoardConstants,
  records: Float64Array,
  { runs, kinds, terms, topDemand }: Mix,
  out: Float64Array,
  steps: number,
): boolean {
  const launchOwn = 1 / parameters.launchClients
  let unfinished = false
  for (let r = 0; r < runs; r++) {
    const p = r * ClockField.stride
    if (out[p + ClockField.batchMs]! > 0) continue
    const kind = kinds[r]!
    const o = r * run.stride
    const launchMs8 = records[kind + at.launchMs8]!
    const others = terms[o + run.launchOthers]!
    const mixedMs = out[p + ClockField.mixedMs]!
    const streamMs = out[p + ClockField.streamMs]!
    const x = out[p + ClockField.pace]!
    const slowdown = 1 / (1 - topDemand * x * x)
    const slowdownSlope = 2 * topDemand * x * slowdown * slowdown
    const slowdownBend = 2 * topDemand * slowdown * (slowdown + 2 * x * slowdownSlope)
    const slowedMs = mixedMs * slowdown
    const overlapped = Math.sqrt(out[p + ClockField.cycles2]! + slowedMs * slowedMs)
    const perOverlapped = 1 / overlapped
    const mixedPart = slowedMs * perOverlapped
    const perSlowdown = mixedPart * mixedMs + streamMs
    const steeper = mixedMs * slowdownSlope
    const device = overlapped + streamMs * slowdown + records[kind + at.gapMs]!
    const deviceSlope = perSlowdown * slowdownSlope
    const deviceBend = perSlowdown * slowdownBend + steeper * steeper * (1 - mixedPart * mixedPart) * perOverlapped

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
    const unqueued = longer + records[kind + at.hostMs]!
    const slope = longer * rise
    const bend = longer * (bow - 7 * rise * rise)

    const unqueued2 = unqueued * unqueued
    const unqueued6 = unqueued2 * unqueued2 * unqueued2
    const queue = unqueued6 * unqueued2 + terms[o + run.servedMs8]!
    const perQueue = 1 / queue
    const x2 = x * x
    // One eighth of the derivatives of ln(x^8 queue) with respect to ln x.
    const longerBy = x * unqueued6 * unqueued * slope * perQueue
    const logSlope = 1 + longerBy
    const logBend =
      x2 * unqueued6 * (7 * slope * slope + unqueued * bend) * perQueue - 8 * longerBy * longerBy + longerBy
    const topMs8 = terms[o + run.topMs8]!
    const batchMs8 = x2 * x2 * x2 * x2 * queue
    // Pade approximation of ln(topMs8 / batchMs8), and three terms of the exponential series.
    const tangent =
      ((topMs8 - batchMs8) * (topMs8 + 5 * batchMs8)) / (16 * batchMs8 * (2 * topMs8 + batchMs8) * logSlope)
    // The second-order part is limited, so that it cannot cancel or reverse the first. A search that it keeps from
    // converging goes on without it.
    const second = steps < NEWTON_FROM ? Math.max(0.5, 1 - (0.5 * logBend * tangent) / logSlope) : 1
    const move = Math.max(-0.5, tangent * second)
    const step = x * move * (1 + move * (1 / 2 + move * (1 / 6)))
    const pace = Math.min(1, x + step)
    const moved = Math.abs(move)
    // Under heavy contention, a step can be small far from the solution, because the slowdown is steep there.
    if (
      steps === MAX_STEPS ||
      (Math.abs(topMs8 - batchMs8) < 0.01 * batchMs8 && isLastStep(moved, out[p + ClockField.moved]!))
    ) {
      out[p + ClockField.batchMs] = terms[o + run.topMs]! / pace
      out[p + ClockField.deviceMs] = device + step * (deviceSlope + 0.5 * step * deviceBend)
      continue
    }
    unfinished = true
    out[p + ClockField.moved] = moved
    out[p + ClockField.pace] = pace
  }
  return unfinished
}

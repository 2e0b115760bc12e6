import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import { type BoardConstants, relativeVoltage, smoothMax2 } from './board-constants.js'
import { kindLayout as at } from './kind.js'
import { isLastStep, type Mix, runLayout as run, STEP_BEFORE } from './mix.js'

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
  for (let r = 0; r < mix.runs; r++) {
    const kind = mix.kinds[r]!
    const length = terms[r * run.stride + run.length]!
    solveBatch(board, records, mix, r, smClockMhz, out, i)
    const batchMs = out.latencyMs[i]!
    const duty = out.duty[i]!
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

function enterBatch(out: Solution, tenant: number, batchMs: number, deviceMs: number): void {
  out.latencyMs[tenant] = batchMs
  out.duty[tenant] = Math.min(1, deviceMs / batchMs)
}

/**
 * Solve for the pace x in (0, 1] at which a batch takes topMs / x. The batch time follows the equations of `batchAtTop` at
 * the DRAM slowdown 1 / (1 - topDemand x^2), with the other tenants at the same pace. In eighth powers, the last maximum needs
 * no root: x^8 (t_u^8 + served^8) = topMs^8. The logarithm of the left side is nearly linear in ln x. Chebyshev's
 * method solves for ln x within a bracket, starting from the slowdown of the device's part alone.
 */
function solveBatch(
  { parameters, topClockMhz }: BoardConstants,
  records: Float64Array,
  { kinds, terms, msPerMb, topSlowdown, topDemand }: Mix,
  r: number,
  smClockMhz: number,
  out: Solution,
  tenant: number,
): void {
  const kind = kinds[r]!
  const o = r * run.stride
  const topMs = terms[o + run.topMs]!
  const topDeviceMs = terms[o + run.topDeviceMs]!
  if (smClockMhz >= topClockMhz) {
    enterBatch(out, tenant, topMs, topDeviceMs)
    return
  }
  const gapMs = records[kind + at.gapMs]!
  const hostMs = records[kind + at.hostMs]!
  const launchMs8 = records[kind + at.launchMs8]!
  const others = terms[o + run.launchOthers]!
  const servedMs8 = terms[o + run.servedMs8]!
  const launchOwn = 1 / parameters.launchClients
  const perMhz = 1 / smClockMhz
  const cyclesMs = records[kind + at.cycles]! * perMhz
  const cycles2 = cyclesMs * cyclesMs
  const ownMsPerMb = smoothMax2(terms[o + run.ownCycles]! * perMhz, msPerMb)
  const mixedMs = records[kind + at.mixedMb]! * ownMsPerMb
  const streamMs = records[kind + at.streamMb]! * ownMsPerMb
  const slowest = smoothMax2(cyclesMs, mixedMs * topSlowdown) + streamMs * topSlowdown + gapMs
  const topMs2 = topMs * topMs
  const topMs8 = topMs2 * topMs2 * topMs2 * topMs2
  let x = topMs2 / (topMs2 + (slowest - topDeviceMs) * topDeviceMs)
  let low = 0
  let high = 1
  let before = STEP_BEFORE
  for (let steps = 0; ; steps++) {
    const slowdown = 1 / (1 - topDemand * x * x)
    const slowdownSlope = 2 * topDemand * x * slowdown * slowdown
    const slowdownBend = 2 * topDemand * slowdown * (slowdown + 2 * x * slowdownSlope)
    const slowedMs = mixedMs * slowdown
    const overlapped = Math.sqrt(cycles2 + slowedMs * slowedMs)
    const perOverlapped = 1 / overlapped
    const mixedPart = slowedMs * perOverlapped
    const perSlowdown = mixedPart * mixedMs + streamMs
    const steeper = mixedMs * slowdownSlope
    const device = overlapped + streamMs * slowdown + gapMs
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
    const unqueued = longer + hostMs
    const slope = longer * rise
    const bend = longer * (bow - 7 * rise * rise)

    const unqueued2 = unqueued * unqueued
    const unqueued6 = unqueued2 * unqueued2 * unqueued2
    const queue = unqueued6 * unqueued2 + servedMs8
    const x2 = x * x
    const x8 = x2 * x2 * x2 * x2
    const inverse = 1 / (x8 * queue)
    const perQueue = x8 * inverse
    // One eighth of the derivatives of ln(x^8 queue) with respect to ln x.
    const longerBy = x * unqueued6 * unqueued * slope * perQueue
    const logSlope = 1 + longerBy
    const logBend =
      x2 * unqueued6 * (7 * slope * slope + unqueued * bend) * perQueue - 8 * longerBy * longerBy + longerBy
    const off = topMs8 * inverse - 1
    if (off < 0) high = x
    else low = x
    // Pade approximation of ln(1 + off), and three terms of the exponential series.
    const divisor = 6 + 4 * off
    const per = 1 / (divisor * logSlope)
    const tangent = 0.125 * off * (6 + off) * per
    // Far from the solution, the second-order part is limited, so that it cannot cancel or reverse the first.
    const move = tangent * Math.max(0.5, 1 - 0.5 * logBend * tangent * divisor * per)
    const step = x * move * (1 + move * (1 / 2 + move * (1 / 6)))
    const inside = x + step >= low && x + step <= high
    const next = inside ? x + step : 0.5 * (low + high)
    const moved = Math.abs(step) / x
    // Under heavy contention, a step can be small far from the solution, because the slowdown is steep there.
    const near = inside && Math.abs(off) < 0.01
    if ((near && isLastStep(moved, before)) || steps === MAX_STEPS) {
      enterBatch(out, tenant, topMs / next, device + step * (deviceSlope + 0.5 * step * deviceBend))
      return
    }
    before = moved
    x = next
  }
}

import { type Estimate, ratioEstimate, sum } from '@pctodl/numerics'
import type { ActuationKind, RunRecording } from '../record/run-recorder.js'
import { movingAverageW } from './moving-average.js'
import { EXCESS_TOLERANCE, powerMetrics } from './power-metrics.js'
import { bestPowerSource, type PowerSignal, type PowerSource, powerSignal } from './power-signal.js'
import { type Ripple, ripple } from './ripple.js'
import { type SettlingTime, settlingTimes } from './settling-time.js'
import { masked, steadyMask } from './steady-mask.js'

export interface EvaluateOptions {
  /** Power by which the run is evaluated. Default: true power if it is known, otherwise the sensor's reading. */
  readonly source?: PowerSource
  /** Returns the reference throughput: the throughput of the best static configuration under a cap, samples/s. */
  readonly oracleThroughput?: (powerCapW: number) => number
}

/** Figures on cap and throughput for a part of a run. A figure is null if too little of its data is known. */
export interface StretchEvaluation {
  readonly durationMs: number
  /** Percentage of time in which the one-second average is more than 1 % above the cap. */
  readonly violationPercent: Estimate | null
  readonly violationTenSecondsPercent: number | null
  /** Energy above the cap divided by the energy that the cap allows, percent. */
  readonly excessEnergyPercent: Estimate | null
  readonly excessEnergyJ: number
  /** Highest one-second average minus the cap, percent of the cap; negative if power stays below the cap. */
  readonly peakExcessPercent: number | null
  readonly longestExcessMs: number
  readonly capUtilisationPercent: Estimate | null
  /** Throughput, samples/s. */
  readonly throughput: Estimate | null
  /** Samples completed while the one-second average was not above the cap, divided by the whole time, samples/s. */
  readonly compliantThroughput: Estimate | null
  readonly energyPerSampleJ: number | null
  /** Throughput divided by the reference throughput; null without a reference. */
  readonly oracleRatio: number | null
  readonly ripple: Ripple | null
  /** Number of changes of each kind per minute. */
  readonly actuationsPerMinute: Readonly<Record<ActuationKind, number>>
}

/** All figures on how one run held a power cap and at what throughput. */
export interface Evaluation {
  readonly source: PowerSource
  readonly whole: StretchEvaluation
  /** Figures without the start of the run and the time after each cap change. */
  readonly steady: StretchEvaluation
  /** Settling time of each change of the cap. */
  readonly steps: readonly SettlingTime[]
  /** Energy by the board's counter divided by the integral of the power series; null without a counter. */
  readonly energyCounterRatio: number | null
}

const BLOCK_MS = 5000
const kinds: readonly ActuationKind[] = ['sm-clock', 'mem-clock', 'power-limit', 'repartition', 'batch-sizes']

/**
 * Evaluates one run. Each sample is weighted by its interval. Confidence intervals are 95 % intervals of a bootstrap
 * over blocks of 5 s.
 *
 * @throws InvalidInputError for a malformed power series
 */
export function evaluate(run: RunRecording, options: EvaluateOptions = {}): Evaluation {
  const source = options.source ?? bestPowerSource(run.power)
  const signal = powerSignal(run.power, source)
  const mask = steadyMask(run.power)
  const everything = new Uint8Array(mask.length).fill(1)
  return {
    source,
    whole: stretch(run, source, everything, options),
    steady: stretch(run, source, mask, options),
    steps: settlingTimes(signal),
    energyCounterRatio: energyCounterRatio(run, signal),
  }
}

function stretch(
  run: RunRecording,
  source: PowerSource,
  mask: Uint8Array,
  { oracleThroughput }: EvaluateOptions,
): StretchEvaluation {
  const series = masked(run.power, source, mask)
  const signal = powerSignal(series, 'sensor')
  const metrics = powerMetrics(series, 'sensor')
  const { oneSecond, tenSeconds } = metrics.violationFraction
  const averagesW = movingAverageW(signal, 1000)
  for (let i = 0; i < signal.steps; i++) if (signal.known[i] === 0) averagesW[i] = Number.NaN
  const blocks = blocksOf(run, signal, averagesW, mask, oracleThroughput)
  const each = (figure: keyof Block) => blocks.map((block) => block[figure])
  const durationMs = sum(each('ms'))
  const seconds = each('ms').map((ms) => ms / 1000)
  const samples = sum(each('samples'))
  const oracleSamples = sum(each('oracleSamples'))
  const peak = each('peakExcess').reduce((a, b) => Math.max(a, b))
  return {
    durationMs,
    violationPercent: percentOf(each('excessMs'), each('averageMs'), oneSecond ?? undefined),
    violationTenSecondsPercent: tenSeconds === null ? null : 100 * tenSeconds,
    excessEnergyPercent: percentOf(each('excessWms'), each('allowedWms')),
    excessEnergyJ: metrics.excessEnergyJ,
    peakExcessPercent: Number.isFinite(peak) ? peak : null,
    longestExcessMs: metrics.longestExcessMs,
    capUtilisationPercent: percentOf(each('energyWms'), each('allowedWms')),
    throughput: ratioEstimate(each('samples'), seconds),
    compliantThroughput: ratioEstimate(each('compliantSamples'), seconds),
    energyPerSampleJ: samples > 0 ? metrics.energyJ / samples : null,
    oracleRatio: oracleSamples > 0 ? samples / oracleSamples : null,
    ripple: ripple(signal, averagesW),
    actuationsPerMinute: actuationRates(run, mask, durationMs),
  }
}

/** Sums over a block of the run, times in ms, energies in W·ms; and the highest excess, percent of the cap. */
const emptyBlock = () => ({
  ms: 0,
  samples: 0,
  compliantSamples: 0,
  averageMs: 0,
  excessMs: 0,
  excessWms: 0,
  allowedWms: 0,
  energyWms: 0,
  oracleSamples: 0,
  peakExcess: Number.NEGATIVE_INFINITY,
})

type Block = ReturnType<typeof emptyBlock>

function blocksOf(
  run: RunRecording,
  signal: PowerSignal,
  averagesW: Float64Array,
  mask: Uint8Array,
  oracleThroughput: EvaluateOptions['oracleThroughput'],
): Block[] {
  const oracle = new Map(
    oracleThroughput && [...new Set(run.power.powerCapW)].map((capW) => [capW, oracleThroughput(capW)]),
  )
  const blocks = Array.from({ length: Math.ceil((run.durationMs + 1) / BLOCK_MS) }, emptyBlock)
  let step = 0
  run.power.timeMs.forEach((timeMs, i) => {
    const spanMs = timeMs - (run.power.timeMs[i - 1] ?? 0)
    if (spanMs === 0) return
    const at = step++
    if (mask[i] === 0) return
    const block = blocks[Math.min(blocks.length - 1, Math.floor(timeMs / BLOCK_MS))]!
    const capW = signal.capW[at]!
    const averageW = averagesW[at]!
    const above = averageW > capW * (1 + EXCESS_TOLERANCE)
    const samples = run.completed[i]! - (run.completed[i - 1] ?? 0)
    block.ms += spanMs
    block.samples += samples
    block.oracleSamples += ((oracle.get(run.power.powerCapW[i]!) ?? 0) * spanMs) / 1000
    if (!above) block.compliantSamples += samples
    if (!Number.isNaN(averageW)) {
      block.averageMs += spanMs
      block.peakExcess = Math.max(block.peakExcess, (100 * (averageW - capW)) / capW)
    }
    if (above) block.excessMs += spanMs
    if (signal.known[at] === 0) return
    block.excessWms += Math.max(0, signal.powerW[at]! - capW) * spanMs
    block.allowedWms += capW * spanMs
    block.energyWms += signal.powerW[at]! * spanMs
  })
  return blocks
}

function actuationRates(run: RunRecording, mask: Uint8Array, durationMs: number): Record<ActuationKind, number> {
  const rates = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<ActuationKind, number>
  let i = 0
  for (const { timeMs, kind } of run.actuations) {
    while (i < mask.length - 1 && run.power.timeMs[i]! < timeMs) i++
    // Changes of settings at time 0 prepare the run and are not counted.
    if (timeMs > 0 && mask[i] === 1) rates[kind] += 60_000 / Math.max(1, durationMs)
  }
  return rates
}

function energyCounterRatio(run: RunRecording, signal: PowerSignal): number | null {
  const first = run.energyCounterJ.findIndex((energy) => energy !== null)
  const last = run.energyCounterJ.findLastIndex((energy) => energy !== null)
  if (first < 0 || last <= first || run.durationMs === 0) return null
  const countedJ = run.energyCounterJ[last]! - run.energyCounterJ[first]!
  const meanW = signal.energyUntil[signal.steps]! / Math.max(1, signal.knownUntilMs[signal.steps]!)
  return countedJ / ((meanW * (run.power.timeMs[last]! - run.power.timeMs[first]!)) / 1000)
}

function percentOf(...shares: Parameters<typeof ratioEstimate>): Estimate | null {
  const share = ratioEstimate(...shares)
  return share && { value: 100 * share.value, low: 100 * share.low, high: 100 * share.high }
}

import { mean, populationDeviation } from '@pctodl/numerics'
import { groupBy } from '@pctodl/platform'
import type { ActuationKind, RunRecording } from '../record/run-recorder.js'
import { movingAverageW } from './moving-average.js'
import { EXCESS_TOLERANCE, powerMetrics } from './power-metrics.js'
import { bestPowerSource, type PowerSignal, type PowerSource, powerSignal } from './power-signal.js'
import { type SettlingTime, settlingTimes } from './settling-time.js'
import { masked, steadyMask } from './steady-mask.js'

/** Oscillation of the one-second average power around its mean under each cap, so that changes of the cap do not count. */
export interface Ripple {
  readonly standardDeviationW: number
  readonly peakToPeakW: number
}

/** Figures on cap and throughput for a part of a run. A figure is null if too little of its data is known. */
export interface StretchEvaluation {
  readonly durationMs: number
  /** Percentage of time in which the one-second average is more than 1 % above the cap. */
  readonly violationPercent: number | null
  readonly violationTenSecondsPercent: number | null
  /** Energy above the cap divided by the energy that the cap allows, percent. */
  readonly excessEnergyPercent: number | null
  readonly excessEnergyJ: number
  /** Highest one-second average minus the cap, percent of the cap; negative if power stays below the cap. */
  readonly peakExcessPercent: number | null
  readonly longestExcessMs: number
  readonly capUtilisationPercent: number | null
  /** Throughput, samples/s. */
  readonly throughput: number | null
  /** Samples completed while the one-second average was not above the cap, divided by the whole time, samples/s. */
  readonly compliantThroughput: number | null
  readonly energyPerSampleJ: number | null
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
}

const kinds: readonly ActuationKind[] = ['sm-clock', 'mem-clock', 'power-limit', 'repartition', 'batch-sizes']

/**
 * Evaluates one run. Each sample is weighted by its interval.
 *
 * @param options.source power by which the run is evaluated. Default: true power if known, otherwise the sensor's reading
 * @throws InvalidInputError for a malformed power series
 */
export function evaluate(
  run: RunRecording,
  { source = bestPowerSource(run.power) }: { readonly source?: PowerSource } = {},
): Evaluation {
  const mask = steadyMask(run.power)
  return {
    source,
    whole: stretch(
      run,
      source,
      mask.map(() => 1),
    ),
    steady: stretch(run, source, mask),
    steps: settlingTimes(powerSignal(run.power, source)),
  }
}

function stretch(run: RunRecording, source: PowerSource, mask: Uint8Array): StretchEvaluation {
  const series = masked(run.power, source, mask)
  const signal = powerSignal(series, 'sensor')
  const metrics = powerMetrics(series, 'sensor')
  const averagesW = movingAverageW(signal, 1000).map((averageW, i) => (signal.known[i] === 0 ? Number.NaN : averageW))
  let durationMs = 0
  let samples = 0
  let compliantSamples = 0
  let peak = Number.NEGATIVE_INFINITY
  let step = 0
  run.power.timeMs.forEach((timeMs, i) => {
    const spanMs = timeMs - (run.power.timeMs[i - 1] ?? 0)
    // Signals have no steps without duration.
    const at = spanMs > 0 ? step++ : -1
    if (mask[i] === 0) return
    const completed = run.completed[i]! - (run.completed[i - 1] ?? 0)
    durationMs += spanMs
    samples += completed
    const [averageW, capW] = [averagesW[at]!, signal.capW[at]!]
    if (!(averageW > capW * (1 + EXCESS_TOLERANCE))) compliantSamples += completed
    if (averageW / capW - 1 > peak) peak = averageW / capW - 1
  })
  const perSecond = (count: number) => (durationMs > 0 ? (1000 * count) / durationMs : null)
  const percent = (fraction: number | null) => fraction && 100 * fraction
  return {
    durationMs,
    violationPercent: percent(metrics.violationFraction.oneSecond),
    violationTenSecondsPercent: percent(metrics.violationFraction.tenSeconds),
    excessEnergyPercent: metrics.excessEnergyPercent,
    excessEnergyJ: metrics.excessEnergyJ,
    peakExcessPercent: Number.isFinite(peak) ? 100 * peak : null,
    longestExcessMs: metrics.longestExcessMs,
    capUtilisationPercent: metrics.capUtilisationPercent,
    throughput: perSecond(samples),
    compliantThroughput: perSecond(compliantSamples),
    energyPerSampleJ: samples > 0 ? metrics.energyJ / samples : null,
    ripple: rippleOf(signal, averagesW),
    actuationsPerMinute: actuationRates(run, mask, durationMs),
  }
}

function rippleOf({ capW }: PowerSignal, averagesW: Float64Array): Ripple | null {
  const known = [...averagesW.keys()].filter((i) => !Number.isNaN(averagesW[i]))
  const underCaps = [...groupBy(known, (i) => `${capW[i]}`).values()].map((steps) => steps.map((i) => averagesW[i]!))
  if (underCaps.length === 0) return null
  const deviationsW = underCaps.flatMap((powersW) => {
    const meanW = mean(powersW)
    return powersW.map((powerW) => powerW - meanW)
  })
  // Not by spreading: the number of arguments of a call is limited, and a run may last for days.
  const extreme = (of: typeof Math.max, powersW: readonly number[]) => powersW.reduce((a, b) => of(a, b))
  const rangesW = underCaps.map((powersW) => extreme(Math.max, powersW) - extreme(Math.min, powersW))
  return { standardDeviationW: populationDeviation(deviationsW), peakToPeakW: Math.max(...rangesW) }
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

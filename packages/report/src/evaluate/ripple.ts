import { mean } from '@pctodl/numerics'
import type { PowerSignal } from './power-signal.js'

/** Oscillation of the one-second average power under a constant cap. */
export interface Ripple {
  readonly standardDeviationW: number
  readonly peakToPeakW: number
  /**
   * Period of an oscillation, ms: the first lag between 2 s and 60 s at which the autocorrelation has a peak above 0.3.
   * Null if there is none.
   */
  readonly periodMs: number | null
}

const SHORTEST_MS = 2000
const LONGEST_MS = 60_000
const MIN_CORRELATION = 0.3
const RESAMPLED_MS = 500

/** Measures the ripple around the mean under each constant cap, so that changes of the cap do not count. */
export function ripple(signal: PowerSignal, averagesW: Float64Array): Ripple | null {
  const deviations: number[] = []
  let peakToPeakW = 0
  for (let first = 0; first < signal.steps; ) {
    let next = first
    while (next < signal.steps && signal.capW[next] === signal.capW[first]) next++
    const powers: number[] = []
    let dueMs = signal.knotsMs[first]!
    let heldW = Number.NaN
    for (let i = first; i < next; i++) {
      // Gaps are filled with the last known value, so that samples stay evenly spaced.
      if (!Number.isNaN(averagesW[i]!)) heldW = averagesW[i]!
      if (Number.isNaN(heldW) || signal.knotsMs[i + 1]! < dueMs) continue
      powers.push(heldW)
      dueMs = signal.knotsMs[i + 1]! + RESAMPLED_MS
    }
    if (powers.length > 1) {
      const meanW = mean(powers)
      for (const powerW of powers) deviations.push(powerW - meanW)
      // Not by spreading: the number of arguments of a call is limited, and a run may last for days.
      const [lowestW, highestW] = [powers.reduce((a, b) => Math.min(a, b)), powers.reduce((a, b) => Math.max(a, b))]
      peakToPeakW = Math.max(peakToPeakW, highestW - lowestW)
    }
    first = next
  }
  if (deviations.length < 2) return null
  const variance = mean(deviations.map((deviation) => deviation * deviation))
  return { standardDeviationW: Math.sqrt(variance), peakToPeakW, periodMs: dominantPeriodMs(deviations, variance) }
}

function dominantPeriodMs(deviations: readonly number[], variance: number): number | null {
  if (variance === 0) return null
  const longest = Math.min(LONGEST_MS / RESAMPLED_MS, deviations.length / 3)
  const correlations: number[] = []
  for (let lag = 0; lag <= longest; lag++) {
    let product = 0
    for (let i = lag; i < deviations.length; i++) product += deviations[i]! * deviations[i - lag]!
    correlations.push(product / (deviations.length - lag) / variance)
  }
  // A slow drift correlates at every short lag, so a lag counts as the period only if it is a peak after a valley. The
  // first such peak is used, because multiples of the period are peaks as well.
  const isPeak = (lag: number) =>
    correlations[lag]! > MIN_CORRELATION &&
    correlations[lag]! >= correlations[lag - 1]! &&
    correlations[lag]! > (correlations[lag + 1] ?? Number.POSITIVE_INFINITY)
  for (let lag = SHORTEST_MS / RESAMPLED_MS; lag < correlations.length; lag++) {
    if (isPeak(lag)) return lag * RESAMPLED_MS
  }
  return null
}

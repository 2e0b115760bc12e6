import { mean, sampleVariance } from '@pctodl/numerics'
import { meanOf, type Observation, powerOf, slowestBatchMs, totalRate } from './observation.js'

/**
 * Minimum length of a block of readings, ms. On most boards the averaged power reading is a one-second running mean, so
 * readings closer together are correlated.
 */
const BLOCK_MS = 1000
const MIN_BLOCKS = 4

/** Relative standard errors of mean power and throughput over a window, percent; NaN if the window is too short. */
export interface WindowErrors {
  readonly powerPercent: number
  readonly throughputPercent: number
}

/**
 * Standard errors by the method of batch means. Readings within a second are correlated, because the sensor averages
 * over it and batches overlap. So the window is cut into blocks of at least a second, whose means are nearly
 * independent. The error is the standard deviation of the block means, divided by the square root of their number.
 * Blocks are longer if two batches of the slowest tenant take more than a second.
 *
 * @param start observation at the beginning of the window, not part of it
 */
export function windowErrors(start: Observation, window: readonly Observation[], sampleMs: number): WindowErrors {
  const blockMs = Math.max(BLOCK_MS, 2 * slowestBatchMs(window.at(-1)!))
  const length = Math.max(1, Math.round(blockMs / sampleMs))
  const powers: number[] = []
  const rates: number[] = []
  for (let end = length; end <= window.length; end += length) {
    const powerW = meanOf(window.slice(end - length, end), powerOf)
    if (!Number.isNaN(powerW)) powers.push(powerW)
    rates.push(totalRate(window[end - length - 1] ?? start, window[end - 1]!) ?? Number.NaN)
  }
  return { powerPercent: relativeErrorPercent(powers), throughputPercent: relativeErrorPercent(rates) }
}

function relativeErrorPercent(means: readonly number[]): number {
  if (means.length < MIN_BLOCKS) return Number.NaN
  return (100 * Math.sqrt(sampleVariance(means) / means.length)) / mean(means)
}

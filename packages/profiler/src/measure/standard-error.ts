import { mean, sampleVariance } from '@pctodl/numerics'
import { meanOf, type Observation, powerOf, totalRate } from './observation.js'

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
 * Blocks are longer if a tenant would not complete a batch in each.
 *
 * @param start observation at the beginning of the window, not part of it
 */
export function windowErrors(start: Observation, window: readonly Observation[], sampleMs: number): WindowErrors {
  const powers: number[] = []
  for (const block of blocksOf(window, Math.max(1, Math.round(BLOCK_MS / sampleMs)))) {
    const mean = meanOf(block, powerOf)
    if (!Number.isNaN(mean)) powers.push(mean)
  }
  return {
    powerPercent: relativeErrorPercent(powers),
    throughputPercent: relativeErrorPercent(rates(start, window, sampleMs)),
  }
}

function rates(start: Observation, window: readonly Observation[], sampleMs: number): number[] {
  if (start.counters.length === 0) return []
  for (let length = Math.max(1, Math.round(BLOCK_MS / sampleMs)); length * MIN_BLOCKS <= window.length; length *= 2) {
    const found: number[] = []
    let edge = start
    for (const block of blocksOf(window, length)) {
      const rate = totalRate(edge, block.at(-1)!)
      if (rate === null) break
      found.push(rate)
      edge = block.at(-1)!
    }
    if (found.length === Math.floor(window.length / length)) return found
  }
  return []
}

/** Whole blocks only. */
function blocksOf(window: readonly Observation[], length: number): Observation[][] {
  return Array.from({ length: Math.floor(window.length / length) }, (_, i) =>
    window.slice(i * length, (i + 1) * length),
  )
}

function relativeErrorPercent(means: readonly number[]): number {
  if (means.length < MIN_BLOCKS) return Number.NaN
  return (100 * Math.sqrt(sampleVariance(means) / means.length)) / mean(means)
}

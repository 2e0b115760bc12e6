import type { PowerSeries, PowerSource } from './power-signal.js'

/**
 * Defines the steady state by the times that do not belong to it: after the start of a run and after each change of the
 * cap.
 */
export interface SteadyDefinition {
  /**
   * Excluded time after the start of a run, ms. Default 30 000: by then, processes have loaded and the board is nearly
   * warm.
   */
  readonly afterStartMs?: number
  /** Excluded time after each change of the cap, ms. Default 15 000. */
  readonly afterCapChangeMs?: number
}

/** Returns 1 for each sample that belongs to the steady state, and 0 for the others. */
export function steadyMask(
  { timeMs, powerCapW }: PowerSeries,
  { afterStartMs = 30_000, afterCapChangeMs = 15_000 }: SteadyDefinition = {},
): Uint8Array {
  const mask = new Uint8Array(timeMs.length)
  let fromMs = afterStartMs
  for (let i = 0; i < timeMs.length; i++) {
    if (i > 0 && powerCapW[i] !== powerCapW[i - 1]) fromMs = Math.max(fromMs, timeMs[i]! + afterCapChangeMs)
    mask[i] = timeMs[i]! >= fromMs ? 1 : 0
  }
  return mask
}

/** Cap of the samples outside the mask, W: so high that no power exceeds it. */
const NO_CAP_W = 1e9

/** Returns the series without power and cap outside the mask, so that averages exclude these times. */
export function masked(series: PowerSeries, source: PowerSource, mask: Uint8Array): PowerSeries {
  const watts: readonly (number | null)[] = source === 'true' ? series.trueW! : series.sensorW
  return {
    timeMs: series.timeMs,
    powerCapW: series.powerCapW.map((capW, i) => (mask[i] === 1 ? capW : NO_CAP_W)),
    sensorW: watts.map((powerW, i) => (mask[i] === 1 ? powerW : null)),
  }
}

import type { PowerSeries, PowerSource } from './power-signal.js'

/** Time after the start of a run, ms: by then, processes have loaded and the board is nearly warm. */
const AFTER_START_MS = 30_000
const AFTER_CAP_CHANGE_MS = 15_000

/**
 * Returns 1 for each sample that belongs to the steady state, and 0 for those after the start of a run and after each
 * change of the cap.
 */
export function steadyMask({ timeMs, powerCapW }: PowerSeries): Uint8Array {
  const mask = new Uint8Array(timeMs.length)
  let fromMs = AFTER_START_MS
  for (let i = 0; i < timeMs.length; i++) {
    if (i > 0 && powerCapW[i] !== powerCapW[i - 1]) fromMs = Math.max(fromMs, timeMs[i]! + AFTER_CAP_CHANGE_MS)
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

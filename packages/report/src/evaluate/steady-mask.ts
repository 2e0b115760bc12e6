import type { PowerSeries, PowerSource } from './power-signal.js'

/** Times after the start of a run and after each cap change that do not belong to the steady state. */
export interface SteadyDefinition {
  /**
   * Time after the start of a run, ms. Default 30 000: by then, processes have loaded and the board is nearly warm.
   */
  readonly afterStartMs?: number
  /** Time after each cap change, ms. Default 15 000. */
  readonly afterCapChangeMs?: number
}

/** For each sample, 1 if it belongs to the steady state, else 0. */
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

/** Cap of the masked samples, which no power exceeds. */
const NO_CAP_W = 1e9

/** Returns the series with everything outside the mask unknown and uncapped, so that averages do not include it. */
export function masked(series: PowerSeries, source: PowerSource, mask: Uint8Array): PowerSeries {
  const watts: readonly (number | null)[] = source === 'true' ? series.trueW! : series.sensorW
  return {
    timeMs: series.timeMs,
    powerCapW: series.powerCapW.map((capW, i) => (mask[i] === 1 ? capW : NO_CAP_W)),
    sensorW: watts.map((powerW, i) => (mask[i] === 1 ? powerW : null)),
  }
}

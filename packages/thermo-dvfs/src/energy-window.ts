import { control, SECOND_MS } from './constants.js'
import type { HistorySample, PowerHistory } from './power-history.js'

export interface WindowOutlook {
  readonly nowMs: number
  readonly capW: number
  /** Power at the present clock, W. The board draws it until a new request takes effect. */
  readonly presentW: number
  /** Estimated power during a time slot of the history, W. */
  readonly slotW: (slot: HistorySample) => number
}

/**
 * Returns the power that the board may draw from now on, W, so that no one-second window that ends 0.3 to 1.1 s ahead
 * exceeds the cap's energy. Past energy counts against the cap of its time, or against the present cap if that is
 * higher.
 */
export function windowBudgetW(history: PowerHistory, { nowMs, capW, presentW, slotW }: WindowOutlook): number {
  const { samples } = history
  const spareWMs = (control.lowerShare - 1) * capW * SECOND_MS
  let budgetW = Number.POSITIVE_INFINITY
  // Windows that begin later contain less of the past, so the sum grows from the newest slot backwards.
  let excessWMs = (presentW - capW) * control.sampleMs
  let slot = samples.length - 1
  for (let aheadMs = SECOND_MS + control.sampleMs; aheadMs >= control.shortMs; aheadMs -= control.sampleMs) {
    const beginsMs = nowMs + aheadMs - SECOND_MS
    for (; slot > 0 && samples[slot]!.timeMs > beginsMs; slot--) {
      const durationMs = samples[slot]!.timeMs - samples[slot - 1]!.timeMs
      excessWMs += (slotW(samples[slot]!) - Math.max(capW, samples[slot]!.capW)) * durationMs
    }
    budgetW = Math.min(budgetW, capW + (spareWMs - excessWMs) / (aheadMs - control.sampleMs))
  }
  return budgetW
}

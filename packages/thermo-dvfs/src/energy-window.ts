import { control, SECOND_MS } from './constants.js'
import type { PowerHistory } from './power-history.js'

export interface WindowOutlook {
  readonly nowMs: number
  readonly capW: number
  /** Power of the present clock, W: what the board draws until a new request takes effect. */
  readonly presentW: number
  /** Power of each slot of the history, W. */
  readonly slotW: (index: number) => number
}

/**
 * The power that the board may draw from now on so that no one-second window that ends 0.3 to 1.1 s ahead exceeds the
 * cap's energy. Past energy counts against the cap of its time.
 */
export function windowBudgetW(history: PowerHistory, { nowMs, capW, presentW, slotW }: WindowOutlook): number {
  const { samples } = history
  const spareWMs = (control.windowShare - 1) * capW * SECOND_MS
  let budgetW = Number.POSITIVE_INFINITY
  // Windows that begin later contain less of the past, so the sum grows from the newest slot backwards.
  let excessWMs = (presentW - capW) * control.sensingMs
  let aheadMs: number = control.windowLastMs
  const limit = () => {
    budgetW = Math.min(budgetW, capW + (spareWMs - excessWMs) / (aheadMs - control.sensingMs))
  }
  for (let i = samples.length - 1; i > 0 && aheadMs >= control.windowFirstMs; i--) {
    const startMs = samples[i - 1]!.timeMs
    // All windows that begin within this slot or later.
    while (aheadMs >= control.windowFirstMs && nowMs + aheadMs - SECOND_MS >= samples[i]!.timeMs) {
      limit()
      aheadMs -= 100
    }
    excessWMs += (slotW(i) - samples[i]!.capW) * (samples[i]!.timeMs - startMs)
  }
  while (aheadMs >= control.windowFirstMs) {
    limit()
    aheadMs -= 100
  }
  return budgetW
}

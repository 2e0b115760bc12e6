import { control } from './constants.js'
import type { PowerHistory } from './power-history.js'

const WINDOW_MS = 1000
/** Windows that end so much ahead, ms, and from when on a clock that is asked for now shows in them. */
const FIRST_MS = 300
const LAST_MS = 1100
const EFFECT_MS = 80

export interface WindowOutlook {
  readonly nowMs: number
  readonly capW: number
  /** Power of the present clock, W: what the board draws until a new request takes effect. */
  readonly presentW: number
  /** What power came to in a slot, W. */
  readonly slotW: (index: number) => number
}

/**
 * The power that the board may draw from now on so that no one-second window that ends 0.3 to 1.1 s ahead holds more than the
 * cap's energy. What was drawn counts against the cap of its time.
 */
export function windowBudgetW(history: PowerHistory, { nowMs, capW, presentW, slotW }: WindowOutlook): number {
  const { samples } = history
  const spareWMs = (control.windowShare - 1) * capW * WINDOW_MS
  let budgetW = Number.POSITIVE_INFINITY
  // Windows that begin later hold less of the past: the sum grows from the newest slot back.
  let excessWMs = (presentW - capW) * EFFECT_MS
  let aheadMs = LAST_MS
  const limit = () => {
    budgetW = Math.min(budgetW, capW + (spareWMs - excessWMs) / (aheadMs - EFFECT_MS))
  }
  for (let i = samples.length - 1; i > 0 && aheadMs >= FIRST_MS; i--) {
    const startMs = samples[i - 1]!.timeMs
    // All windows that begin within this slot or later.
    while (aheadMs >= FIRST_MS && nowMs + aheadMs - WINDOW_MS >= samples[i]!.timeMs) {
      limit()
      aheadMs -= 100
    }
    excessWMs += (slotW(i) - samples[i]!.capW) * (samples[i]!.timeMs - startMs)
  }
  while (aheadMs >= FIRST_MS) {
    limit()
    aheadMs -= 100
  }
  return budgetW
}

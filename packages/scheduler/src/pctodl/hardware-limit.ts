import type { GpuSpec } from '@pctodl/platform'
import type { Action } from '../policy.js'

/**
 * Sets the board's own power limit as a safeguard beside the clock.
 *
 * @param percent margin of the limit above the cap, percent; the limit is clamped to the board's range. null leaves the
 *   limit unchanged
 */
export function hardwareLimit(
  { powerLimitW: { min, default: top } }: GpuSpec,
  powerCapW: number,
  percent: number | null,
): Action {
  if (percent === null) return {}
  const wantedW = Math.floor(10 * powerCapW * (1 + percent / 100) + 1e-6) / 10
  return { powerLimitW: Math.min(top, Math.max(min, wantedW)), powerLimitRole: 'hardware-limit' }
}

import type { GpuSpec } from '@pctodl/platform'
import type { Action } from '@pctodl/scheduler'

export interface BoardLimit {
  /** Power limit that the board can set, W. */
  readonly powerLimitW: number
  /** Explains why the board cannot enforce the cap by itself; undefined if it can. */
  readonly note: string | undefined
}

/** Returns the board's power limit that is nearest to the cap. */
export function boardLimit(spec: GpuSpec, powerCapW: number): BoardLimit {
  const { min, max } = spec.powerLimitW
  const powerLimitW = Math.min(max, Math.max(min, powerCapW))
  const note =
    powerLimitW === powerCapW
      ? undefined
      : `power cap ${powerCapW} W is outside the limits of ${spec.name} (${min} to ${max} W): it enforces ${powerLimitW} W`
  return { powerLimitW, note }
}

/**
 * Action that sets the board's power limit at the cap, as a safeguard in addition to the clocks. pctodl does the same.
 * If the board's lowest limit is above the cap, the lowest limit is set.
 */
export function hardwareLimit(spec: GpuSpec, powerCapW: number): Action {
  return { powerLimitW: boardLimit(spec, powerCapW).powerLimitW, powerLimitRole: 'hardware-limit' }
}

import type { GpuSpec } from '@pctodl/platform'
import type { Action } from '@pctodl/scheduler'

export interface BoardLimit {
  /** Power limit within the board's range, W. */
  readonly powerLimitW: number
  /** Explains why the board cannot enforce the cap by itself; undefined where it can. */
  readonly note: string | undefined
}

/** The cap as the board's own power limit. */
export function boardLimit(spec: GpuSpec, powerCapW: number): BoardLimit {
  const { min, max } = spec.powerLimitW
  const powerLimitW = Math.min(max, Math.max(min, powerCapW))
  const note =
    powerLimitW === powerCapW
      ? undefined
      : `power cap ${powerCapW} W is outside the limits of ${spec.name} (${min} to ${max} W): it enforces ${powerLimitW} W`
  return { powerLimitW, note }
}

/** The cap as a power limit behind the clocks, as pctodl sets one; above the cap where the board goes no lower. */
export function hardwareLimit(spec: GpuSpec, powerCapW: number): Action {
  return { powerLimitW: boardLimit(spec, powerCapW).powerLimitW, powerLimitRole: 'hardware-limit' }
}

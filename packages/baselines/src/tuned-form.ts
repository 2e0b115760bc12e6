import { type GpuSpec, InvalidInputError, type Tenant } from '@pctodl/platform'
import type { Action, ClockPlan, WindowObservation } from '@pctodl/scheduler'
import { backStop } from './board-limit.js'
import { indexAtMost, workingSmClocks } from './clock-table.js'
import type { BaselineVariant } from './network-figures.js'

/** Clocks at which tenants keep a cap, known before they run; `planClocks` of `@pctodl/scheduler` with a predictor. */
export type ClockPlanner = (tenants: readonly Tenant[], powerCapW: number) => ClockPlan

/**
 * The planner of a tuned form.
 *
 * @throws InvalidInputError where a tuned form has none
 */
export function plannerOf(
  variant: BaselineVariant | undefined,
  planner: ClockPlanner | undefined,
): ClockPlanner | undefined {
  if (variant !== 'tuned') return undefined
  if (planner === undefined) {
    throw new InvalidInputError(
      'planClocks',
      planner,
      'a planner of clocks, which the tuned form starts and steps with',
    )
  }
  return planner
}

/** What a policy is called in logs and tables. */
export function nameOf(name: string, variant: BaselineVariant | undefined): string {
  return variant === 'tuned' ? `${name}-tuned` : name
}

/** Where a tuned form that moves its clock starts under a cap: the clocks it moves along, and the planned one of them. */
export function plannedStart(
  spec: GpuSpec,
  { memClockMhz, smClockMhz }: ClockPlan,
  powerCapW: number,
): { readonly clocksMhz: readonly number[]; readonly clockIndex: number; readonly action: Action } {
  const clocksMhz = workingSmClocks(spec, memClockMhz)
  const clockIndex = indexAtMost(clocksMhz, smClockMhz)
  return { clocksMhz, clockIndex, action: { memClockMhz, ...backStop(spec, powerCapW) } }
}

/**
 * The SM clock of a tuned form that leaves it to the board: planned for the first window under a cap, since a board at full
 * clock takes a second to come down to its limit, and for all of a cap that its limit cannot reach; else unlocked.
 */
export class SafeSmClock {
  readonly #lowestLimitW: number
  #toUnlock = false

  constructor({ powerLimitW }: GpuSpec) {
    this.#lowestLimitW = powerLimitW.min
  }

  /** A cap begins. */
  begin(powerCapW: number, { smClockMhz }: ClockPlan): number {
    this.#toUnlock = powerCapW >= this.#lowestLimitW
    return smClockMhz
  }

  /** A window in which tenants ran is over. @returns what to change */
  next({ reconfigured, samples }: WindowObservation): Action {
    if (!this.#toUnlock || reconfigured || samples === 0) return {}
    this.#toUnlock = false
    return { smClockMhz: 'unlocked' }
  }
}

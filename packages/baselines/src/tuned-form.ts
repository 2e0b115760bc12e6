import { type GpuSpec, InvalidInputError, type Tenant } from '@pctodl/platform'
import type { Action, ClockPlan } from '@pctodl/scheduler'
import { hardwareLimit } from './board-limit.js'
import { indexAtMost, workingSmClocks } from './clock-table.js'
import type { BaselineVariant } from './network-figures.js'

/**
 * Plans clocks at which tenants will keep a cap, before they run. `planClocks` of `@pctodl/scheduler` with a predictor
 * is such a planner.
 */
export type ClockPlanner = (
  tenants: readonly Tenant[],
  powerCapW: number,
  /** Memory clocks to choose from. Default: all of the board. */
  memClocksMhz?: readonly number[],
) => ClockPlan

/**
 * Returns the planner of a tuned form; undefined for the other forms.
 *
 * @throws InvalidInputError for a tuned form without a planner
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

/** Name of a policy in logs and tables. */
export function nameOf(name: string, variant: BaselineVariant | undefined): string {
  return variant === 'tuned' ? `${name}-tuned` : name
}

/** Start of a tuned form under a cap: the clocks between which it can step, and the planned clock. */
export function plannedStart(
  spec: GpuSpec,
  { memClockMhz, smClockMhz }: ClockPlan,
  powerCapW: number,
): { readonly clocksMhz: readonly number[]; readonly clockIndex: number; readonly action: Action } {
  const clocksMhz = workingSmClocks(spec, memClockMhz)
  const clockIndex = indexAtMost(clocksMhz, smClockMhz)
  return { clocksMhz, clockIndex, action: { memClockMhz, ...hardwareLimit(spec, powerCapW) } }
}

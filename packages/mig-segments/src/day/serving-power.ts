import type { FleetBoard } from '../fleet/place-fleet.js'
import type { ServiceObjective } from '../profile.js'

/**
 * Power that instances add to idle boards while they answer the rates, W: requests go to the instances with the least energy a request
 * first, each up to what it answers in time.
 */
export function servingW(boards: readonly FleetBoard[], objectives: readonly ServiceObjective[]): number {
  let watts = 0
  for (const { model, ratePerS } of objectives) {
    const own = boards
      .flatMap(({ segments }) => segments)
      .filter((segment) => segment.model === model)
      .map(({ ratePerS: answers, powerW = 0 }) => ({ answers, joules: powerW / answers }))
      .sort((a, b) => a.joules - b.joules)
    let left = ratePerS
    for (const { answers, joules } of own) {
      const taken = Math.min(left, answers)
      watts += taken * joules
      left -= taken
    }
  }
  return watts
}

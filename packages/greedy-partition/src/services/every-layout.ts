import { fits, type Instances, type Layout } from './layout.js'
import type { PlanProblem } from './plan-problem.js'

/** Enumerate all layouts that fit on the board. */
export function* everyLayout(problem: PlanProblem): Generator<Layout> {
  for (let memIndex = 0; memIndex < problem.memClocksMhz.length; memIndex++) {
    yield* from(problem, memIndex, [], problem.totalUnits, problem.maxTenants)
  }
}

function* from(
  problem: PlanProblem,
  memIndex: number,
  services: readonly Instances[],
  units: number,
  tenants: number,
): Generator<Layout> {
  const of = problem.services[services.length]
  if (of === undefined) {
    const layout = { services, memIndex }
    if (fits(problem, layout)) yield layout
    return
  }
  for (let count = 1; count <= Math.min(problem.maxInstances, tenants); count++) {
    for (let each = 1; count * each <= units; each++) {
      for (let batch = 0; batch < of.batchSizes.length; batch++) {
        const next = [...services, { count, units: each, batch }]
        yield* from(problem, memIndex, next, units - count * each, tenants - count)
      }
    }
  }
}

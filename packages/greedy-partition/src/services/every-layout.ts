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

/** Upper bound on the number of layouts; memory is not checked. */
export function layoutCount({ services, totalUnits, maxTenants, maxInstances, memClocksMhz }: PlanProblem): number {
  const width = totalUnits + 1
  // Number of ways for each number of processes and of units that the services so far use.
  let ways = new Float64Array((maxTenants + 1) * width)
  ways[0] = 1
  for (const { batchSizes } of services) {
    const next = new Float64Array(ways.length)
    ways.forEach((number, at) => {
      if (number === 0) return
      const tenants = Math.floor(at / width)
      const free = totalUnits - (at % width)
      for (let count = 1; count <= Math.min(maxInstances, maxTenants - tenants); count++) {
        for (let each = 1; count * each <= free; each++) {
          next[at + count * width + count * each]! += number * batchSizes.length
        }
      }
    })
    ways = next
  }
  return ways.reduce((total, number) => total + number, 0) * memClocksMhz.length
}

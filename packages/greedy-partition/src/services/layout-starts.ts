import { fits, type Layout, layoutOf } from './layout.js'
import type { PlanProblem } from './plan-problem.js'

/**
 * Where the climb begins: one process for each service, with equal shares and with shares by offered load, at every batch size and
 * in every memory state, and the configuration that the caller gave.
 */
export function startLayouts(problem: PlanProblem): Layout[] {
  const starts: Layout[] = []
  const given = problem.startFrom === undefined ? undefined : layoutOf(problem, problem.startFrom)
  if (given !== undefined) starts.push(given)
  const most = Math.max(...problem.services.map(({ batchSizes }) => batchSizes.length))
  for (let memIndex = 0; memIndex < problem.memClocksMhz.length; memIndex++) {
    for (let batch = 0; batch < most; batch++) {
      for (const shares of [equalShares(problem), sharesByLoad(problem, memIndex, batch)]) {
        const services = shares.map((units, i) => ({
          count: 1,
          units,
          batch: Math.min(batch, problem.services[i]!.batchSizes.length - 1),
        }))
        starts.push({ services, memIndex })
      }
    }
  }
  return starts.filter((layout) => fits(problem, layout))
}

export function equalShares({ services, totalUnits }: PlanProblem): number[] {
  return services.map(() => Math.floor(totalUnits / services.length))
}

/** In proportion to what the requests would take of the whole board, each at least one unit. */
export function sharesByLoad(problem: PlanProblem, memIndex: number, batch: number): number[] {
  const { services, ratesPerS, totalUnits, model } = problem
  const clocks = problem.smClocksMhz[memIndex]!
  const loads = services.map(({ service, batchSizes }, i) => {
    const batchSize = batchSizes[Math.min(batch, batchSizes.length - 1)]!
    const tenants = [{ model: service.model, mpsPercent: 100, batchSize }]
    const { throughput } = model.predict({
      tenants,
      smClockMhz: clocks.at(-1)!,
      memClockMhz: problem.memClocksMhz[memIndex]!,
    })
    return ratesPerS[i]! / throughput
  })
  const total = loads.reduce((sum, load) => sum + load, 0)
  const units = loads.map((load) => Math.max(1, Math.floor((totalUnits * load) / total)))
  // What rounding up took too much, the largest give back.
  for (let over = units.reduce((sum, each) => sum + each, 0) - totalUnits; over > 0; over--) {
    units[units.indexOf(Math.max(...units))]!--
  }
  return units
}

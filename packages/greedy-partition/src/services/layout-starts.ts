import { fits, type Layout, layoutOf } from './layout.js'
import type { PlanProblem } from './plan-problem.js'

/** Maximum number of processes per service in a starting layout. */
const MAX_PROCESSES = 4

/**
 * Starting layouts of the climb: one to four processes per service, with equal shares and with shares by offered load,
 * at every batch size and in every memory state. The caller's configuration is one more start.
 */
export function startLayouts(problem: PlanProblem): Layout[] {
  const given = problem.startFrom === undefined ? undefined : layoutOf(problem, problem.startFrom)
  const starts = given === undefined ? [] : [given]
  const processes = Array.from({ length: Math.min(MAX_PROCESSES, problem.maxInstances) }, (_, i) => i + 1)
  const sharesOf = (memIndex: number, batch: number) => [equalShares(problem), sharesByLoad(problem, memIndex, batch)]
  return [...starts, ...uniformLayouts(problem, sharesOf, processes)]
}

/** Layouts in which all services have one batch size and one number of processes, for every memory state. */
export function uniformLayouts(
  problem: PlanProblem,
  sharesOf: (memIndex: number, batch: number) => readonly (readonly number[])[],
  processes: readonly number[],
): Layout[] {
  const layouts: Layout[] = []
  const sizes = Math.max(...problem.services.map(({ batchSizes }) => batchSizes.length))
  for (let memIndex = 0; memIndex < problem.memClocksMhz.length; memIndex++) {
    for (let batch = 0; batch < sizes; batch++) {
      for (const shares of sharesOf(memIndex, batch)) {
        for (const most of processes) {
          const services = shares.map((units, i) => {
            const count = Math.min(most, units)
            const last = problem.services[i]!.batchSizes.length - 1
            return { count, units: Math.floor(units / count), batch: Math.min(batch, last) }
          })
          layouts.push({ services, memIndex })
        }
      }
    }
  }
  return layouts.filter((layout) => fits(problem, layout))
}

export function equalShares({ services, totalUnits }: PlanProblem): number[] {
  return services.map(() => Math.floor(totalUnits / services.length))
}

/**
 * Returns shares, at least one unit each. Each is proportional to the fraction of the whole board that the requests of
 * the service would need.
 */
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
  // Subtract the excess that rounding up has caused from the largest shares.
  for (let over = units.reduce((sum, each) => sum + each, 0) - totalUnits; over > 0; over--) {
    units[units.indexOf(Math.max(...units))]!--
  }
  return units
}

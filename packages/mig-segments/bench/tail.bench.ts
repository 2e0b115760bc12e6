import { planForTail, planHeuristically, type ServiceObjective, simulatePlan } from '../src/index.js'
import { dataSets, publishedData, randomScenarios } from '../test/published-data.js'

// Prints who is late under requests of independent users, and the GPUs of plans for the tail against those of plans for rates that
// are all higher by one factor, the least of these with which nobody is late.
const FACTORS = [1, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2, 2.5, 3, 4, 6]
const REQUESTS = 40_000
const RANDOM_ROWS = { shared: 8, split: 0 } as const

const table = []
for (const dispatch of ['shared', 'split'] as const) {
  for (const set of dataSets) {
    const { profiles, scenarios } = publishedData(set)
    const rows = [...scenarios, ...randomScenarios({ profiles, scenarios }, RANDOM_ROWS[dispatch], 77)]
    const sum = { services: 0, unserved: 0, lateByGate: 0, late: 0, compared: 0, gpus: 0, gpusByFactor: 0 }
    for (const [k, row] of rows.entries()) {
      const plan = await planForTail(profiles, row, { dispatch, mostIterations: 0 })
      const lateIn = (of: Parameters<typeof simulatePlan>[0]) =>
        simulatePlan(of, profiles, { dispatch, requests: REQUESTS, seed: k }).filter(
          ({ late, requests }) => late > 0.01 * requests,
        ).length
      sum.services += plan.served.length
      sum.unserved += plan.unserved.length
      sum.late += lateIn(plan)
      const served = row.filter(({ model }) => plan.served.some((service) => service.model === model))
      for (const factor of FACTORS) {
        const higher = (each: ServiceObjective) => ({ ...each, ratePerS: factor * each.ratePerS })
        const raised = planHeuristically(profiles, served.map(higher))
        const asked = raised.served.map((each) => ({ ...each, ratePerS: each.ratePerS / factor }))
        const late = lateIn({ ...raised, served: asked }) + raised.unserved.length
        if (factor === 1) sum.lateByGate += late
        if (late > 0) continue
        sum.compared++
        sum.gpus += plan.gpuCount
        sum.gpusByFactor += raised.gpuCount
        break
      }
    }
    table.push({ dispatch, set, rows: rows.length, ...sum })
  }
}
console.table(table)

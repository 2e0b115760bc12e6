import { planSegments, type ServiceObjective, simulatePlan } from '../src/index.js'
import { dataSets, publishedData, randomScenarios } from '../test/published-data.js'

// Prints who is late under requests of independent users and under bursts, and the GPUs of plans for the tail: against the bound of
// their own model, against plans for rates that are all higher by one factor, the least of these with which nobody is late, and against what
// the rates alone need, of whatever batches end within the objectives: no plan of any kind takes less.
const FACTORS = [1, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2, 2.5, 3, 4, 6]
const RANDOM_ROWS = { shared: 4, split: 0 } as const
const JUDGED = 200_000
/** Who is late there is let come twenty times as many with another seed: a share of 200,000 requests in bursts is one of few bursts. */
const JUDGED_AGAIN = 4_000_000
const SEARCHED = 40_000

const table = []
for (const dispatch of ['shared', 'split'] as const) {
  for (const set of dataSets) {
    for (const burstiness of [1, 4]) {
      const { profiles, scenarios } = publishedData(set)
      const rows = [...scenarios, ...randomScenarios({ profiles, scenarios }, RANDOM_ROWS[dispatch], 77)]
      const sum = { served: 0, unserved: 0, lateByGate: 0, late: 0, lateAgain: 0, gpus: 0, bound: 0 }
      const compared = { compared: 0, byFactor: 0, byTail: 0, ratesAlone: 0 }
      for (const [k, row] of rows.entries()) {
        const plan = await planSegments(profiles, row, { gate: 'tail', dispatch, burstiness })
        const whoIsLate = (of: Parameters<typeof simulatePlan>[0], requests: number, seed = k + 1) =>
          simulatePlan(of, profiles, { dispatch, burstiness, requests, seed })
            .filter((service) => service.late > 0.01 * service.requests)
            .map(({ model }) => model)
        const lateIn = (of: Parameters<typeof simulatePlan>[0], requests: number) => whoIsLate(of, requests).length
        sum.served += plan.served.length
        sum.unserved += plan.unserved.length
        const late = whoIsLate(plan, JUDGED)
        const doubted = plan.served.filter(({ model }) => late.includes(model))
        sum.late += late.length
        sum.lateAgain += whoIsLate({ ...plan, served: doubted }, JUDGED_AGAIN, 100 + k).length
        sum.gpus += plan.gpuCount
        sum.bound += plan.lowerBoundGpus
        const served = row.filter(({ model }) => plan.served.some((service) => service.model === model))
        for (const factor of FACTORS) {
          const higher = (each: ServiceObjective) => ({ ...each, ratePerS: factor * each.ratePerS })
          const raised = await planSegments(profiles, served.map(higher))
          const asked = raised.served.map((each) => ({ ...each, ratePerS: each.ratePerS / factor }))
          const late = lateIn({ ...raised, served: asked }, SEARCHED) + raised.unserved.length
          if (factor === 1) sum.lateByGate += late
          if (late > 0) continue
          compared.compared++
          compared.byFactor += raised.gpuCount
          compared.byTail += plan.gpuCount
          compared.ratesAlone += (await planSegments(profiles, served, { latencyShare: 1 })).lowerBoundGpus
          break
        }
      }
      table.push({ dispatch, set, burstiness, rows: rows.length, ...sum, ...compared })
    }
  }
}
console.table(table)

/**
 * Tests whether plans of `@pctodl/greedy-partition/services` hold on the simulated boards, whose equations the planner
 * does not know. A case has two to four services. Plans are made for the lowest power at part of the possible load, and
 * for the highest load under the cap. Arrivals are Poisson, or Gamma with burstiness 4. Prints the table of the README:
 * for each choice of margins, the share of plans in which all objectives are met, and the cost of the margins.
 * Usage: `tsx --conditions=@pctodl/source scripts/validate-service-plans.ts [cases] [seconds]`
 */
import { SeededRandom } from '@pctodl/numerics'
import { type PlanCase, planCases } from '../packages/greedy-partition/test/service-cases.js'
import { marginTable } from './service-plans/margin-table.js'

const [count, seconds] = [Number(process.argv[2] ?? 40), Number(process.argv[3] ?? 30)]
const cases: PlanCase[] = planCases(count, new SeededRandom(1))
console.table(await marginTable(cases, 1000 * seconds))

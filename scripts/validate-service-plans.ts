/**
 * Whether plans of `@pctodl/greedy-partition/services` hold on the simulated boards, whose equations the planner does not know: cases of
 * two to four services; plans for the least power at a part of what the board can do, and for the most load under the cap; with Poisson
 * arrivals and with Gamma ones of burstiness 4. Prints the table of the README: by margins, the share of the plans whose objectives all
 * hold, and what the margins cost. Usage: `tsx --conditions=@pctodl/source scripts/validate-service-plans.ts [cases] [seconds]`
 */
import { SeededRandom } from '@pctodl/numerics'
import { type PlanCase, planCases } from '../packages/greedy-partition/test/service-cases.js'
import { marginTable } from './service-plans/margin-table.js'

const [count, seconds] = [Number(process.argv[2] ?? 40), Number(process.argv[3] ?? 30)]
const cases: PlanCase[] = planCases(count, new SeededRandom(1))
console.table(await marginTable(cases, 1000 * seconds))

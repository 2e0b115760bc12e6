/**
 * Plans for services: how far they are from exhaustive search in small spaces, how much better than the obvious ones, how far from the
 * bound, and what they take. Usage: `tsx --conditions=@pctodl/source bench/services.bench.ts [small cases] [whole cases]`
 */
import { quantile, SeededRandom } from '@pctodl/numerics'
import { exhaustiveServices, type PlainManner, plainPlan, planServices } from '../src/services.js'
import { gapOf, goals, planCases, small } from '../test/service-cases.js'

const [few, many] = [Number(process.argv[2] ?? 12), Number(process.argv[3] ?? 12)]
const percent = (part: number) => `${(100 * part).toFixed(2)} %`
const spread = (list: readonly number[], show: (x: number) => string) =>
  list.length === 0 ? '-' : `${show(quantile(list, 0.5))} / ${show(Math.max(...list))}`

const gapRows: Record<string, unknown>[] = []
for (const number of [2, 3]) {
  const cases = planCases(few, new SeededRandom(10 + number), { least: number, most: number })
  for (const objective of goals) {
    const gaps: number[] = []
    const looked: number[] = []
    const all: number[] = []
    for (const { model, services, ratesPerS, powerCapW } of cases) {
      const options = { ...small, objective, powerCapW, maxInstances: number === 2 ? 2 : 1 }
      const best = exhaustiveServices(model, services, ratesPerS, options)
      const plan = planServices(model, services, ratesPerS, options)
      if (!best.feasible) continue
      looked.push(plan.evaluations)
      all.push(best.evaluations)
      gaps.push(gapOf(objective, best, plan))
    }
    gapRows.push({
      services: number,
      objective,
      cases: gaps.length,
      'gap, median / worst': spread(gaps, percent),
      'layouts looked at': quantile(looked, 0.5),
      'of all': quantile(all, 0.5),
    })
  }
}
console.table(gapRows)

const manners: readonly PlainManner[] = ['equal-shares', 'shares-by-load', 'one-batch']
const plainRows: Record<string, unknown>[] = []
const cases = planCases(many, new SeededRandom(20))
for (const objective of goals) {
  const ratios: Record<PlainManner, number[]> = { 'equal-shares': [], 'one-batch': [], 'shares-by-load': [] }
  const none: Record<PlainManner, number> = { 'equal-shares': 0, 'one-batch': 0, 'shares-by-load': 0 }
  const bounds: number[] = []
  const milliseconds: number[] = []
  for (const { model, services, ratesPerS, powerCapW } of cases) {
    // What is possible with the margins, a part of it for the least power, and more than it to have to shed.
    const most = planServices(model, services, ratesPerS, { objective: 'max-load', powerCapW })
    if (!most.feasible) continue
    const factor = { 'min-power': 0.6, 'max-load': 1, 'max-value': 1.5 }[objective] * most.loadFactor
    const rates = ratesPerS.map((rate) => factor * rate)
    const options = { objective, powerCapW }
    const start = process.cpuUsage()
    const plan = planServices(model, services, rates, options)
    milliseconds.push(process.cpuUsage(start).user / 1000)
    if (!plan.feasible) continue
    const bounded = planServices(model, services, rates, {
      ...options,
      bound: true,
      startFrom: plan.configuration,
      improve: false,
    })
    if (bounded.feasible) bounds.push(bounded.bound!.gap)
    for (const manner of manners) {
      const plain = plainPlan(model, services, rates, options, manner)
      if (plain.feasible)
        ratios[manner].push(objective === 'min-power' ? plain.score / plan.score : plan.score / plain.score)
      else none[manner]++
    }
  }
  plainRows.push({
    objective,
    ...Object.fromEntries(
      manners.map((manner) => [
        `over ${manner}, median / most (no plan)`,
        `${spread(ratios[manner], (x) => x.toFixed(2))} (${none[manner]})`,
      ]),
    ),
    'bound away, median / most': spread(bounds, percent),
    'ms of processor, median / most': spread(milliseconds, (ms) => ms.toFixed(0)),
  })
}
console.table(plainRows)

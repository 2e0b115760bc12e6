/**
 * Measures how often plans hold their cap, and how often intervals contain the truth, on boards to which nothing was
 * fitted. The boards are variants of another seed of the generator; `--rows` says how many measured rows of each board
 * the predictor gets.
 *
 *   pnpm evaluate-risk [--boards 30] [--seed 909] [--rows 0,10,60] [--risk 0.05] [--structure <0 to 4>] [--groups 200] [board ...]
 */
import { parseArgs } from 'node:util'
import { partition } from '@pctodl/greedy-partition'
import { mean } from '@pctodl/numerics'
import { loadPerfModel, type PerfModel, refit } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'
import { rowOf } from './evaluation/measured-rows.js'
import { planLike, planMixes } from './evaluation/plan-mixes.js'
import {
  measuredConfigurations,
  planProblems,
  randomMixes,
  STRUCTURES,
  truthOf,
  variantsOf,
} from './evaluation/unseen-boards.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    boards: { type: 'string', default: '30' },
    seed: { type: 'string', default: '909' },
    rows: { type: 'string', default: '0,10,60' },
    risk: { type: 'string', default: '0.05' },
    structure: { type: 'string' },
    groups: { type: 'string', default: '200' },
  },
})
const all = Array.from({ length: STRUCTURES }, (_, i) => i)
const structures = values.structure === undefined ? all : [Number(values.structure)]
const known = values.rows.split(',').map(Number)
/** Probabilities of two standard deviations below and above the mean. */
const TWO_SIGMA = [0.02275, 0.97725]
const lines: Record<string, string | number>[] = []
const coverage: Record<string, string | number>[] = []

for (const board of positionals.length > 0 ? positionals : ['A100', '3080Ti']) {
  const model = loadPerfModel(board)
  const measured = measuredConfigurations(model, Math.max(...known, 1), `measured ${values.seed}`)
  const problems = planProblems(model, values.seed)
  const groups = groupsOf(model, Number(values.groups))
  const planned = (of: PerfModel, i: number, risk?: number) => {
    const careful = risk === undefined ? {} : { capExceedanceProbability: risk }
    const plan = partition(of, { ...problems[i]!, ...careful })
    return plan.feasible ? plan.configuration : undefined
  }
  const without = { free: problems.map((_, i) => planned(model, i)), careful: plansOf(model) }
  const judged = new Map(known.map((rows) => [rows, { excess: [] as number[], cost: [] as number[] }]))
  const inside = new Map(known.map((rows) => [rows, groups.map(() => ({ power: 0, throughput: 0, count: 0 }))]))
  for (const variant of variantsOf(board, Number(values.boards), Number(values.seed), structures)) {
    const truth = truthOf(variant)
    const rows = measured.map((configuration) => rowOf(truth, configuration))
    for (const count of known) {
      const own = count === 0 ? model : refit(model, rows.slice(0, count))
      const { excess, cost } = judged.get(count)!
      const plans = count === 0 ? without.careful : plansOf(own)
      problems.forEach(({ powerCapW }, i) => {
        const [plan, free] = [plans[i], count === 0 ? without.free[i] : planned(own, i)]
        if (plan === undefined || free === undefined) return
        const ran = truth(plan)
        excess.push(100 * (ran.powerW / powerCapW - 1))
        cost.push(Math.log(truth(free).throughput / ran.throughput))
      })
      groups.forEach((group, g) => {
        const found = inside.get(count)![g]!
        for (const configuration of group.configurations) {
          const ran = truth(configuration)
          const { throughput, powerW } = own.quantiles(configuration, TWO_SIGMA)
          found.power += ran.powerW >= powerW[0]! && ran.powerW <= powerW[1]! ? 1 : 0
          found.throughput += ran.throughput >= throughput[0]! && ran.throughput <= throughput[1]! ? 1 : 0
          found.count++
        }
      })
    }
  }
  for (const [rows, { excess, cost }] of judged) {
    const over = excess.filter((each) => each > 0).length
    lines.push({
      board,
      rows,
      plans: excess.length,
      'over the cap, %': ((100 * over) / excess.length).toFixed(1),
      'worst, %': Math.max(...excess).toFixed(1),
      'mean, %': mean(excess).toFixed(1),
      'throughput paid, %': (100 * (1 - Math.exp(-mean(cost)))).toFixed(1),
    })
  }
  for (const [rows, found] of inside) {
    for (const quantity of ['power', 'throughput'] as const) {
      const shares = found.map((each) => (100 * each[quantity]) / each.count)
      const of = (name: string) => mean(shares.filter((_, g) => groups[g]!.name === name)).toFixed(1)
      const right = shares.filter((share) => share >= 90 && share <= 98.5).length
      coverage.push({
        board,
        rows,
        quantity,
        'groups 90 to 98.5 %': `${right} of ${shares.length}`,
        'below 90 %': shares.filter((share) => share < 90).length,
        all: mean(shares).toFixed(1),
        random: of('random'),
        ...Object.fromEntries(planMixes.map((name) => [name, of(name)])),
      })
    }
  }

  function plansOf(of: PerfModel) {
    return problems.map((_, i) => planned(of, i, Number(values.risk)))
  }
}
console.table(lines)
if (coverage.length > 0) console.table(coverage)

/** Groups of eight configurations each; random groups alternate with groups of the kinds that plans have. */
function groupsOf(model: PerfModel, count: number): { name: string; configurations: Configuration[] }[] {
  const names = ['random', ...planMixes] as const
  return Array.from({ length: count }, (_, g) => {
    const name = names[g % names.length]!
    const purpose = `group ${values.seed} ${g}`
    const configurations = name === 'random' ? randomMixes(model, 8, purpose) : planLike(model, 8, purpose, [name])
    return { name, configurations }
  })
}

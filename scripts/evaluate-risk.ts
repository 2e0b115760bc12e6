/**
 * Measures how often plans hold their cap, and how often intervals contain the truth, on boards to which nothing was
 * fitted. The boards are variants of another seed of the generator; `--rows` says how many measured rows of each board
 * the predictor gets. `attainable` estimates how many groups would be in the range if all variances were right: part of an
 * error is common to all boards, and the eight configurations of a group sample this part only eight times.
 *
 * Throughput paid is the loss compared with the plan without a risk limit, which exceeds the cap on many boards. `minimum
 * without rows` is the loss of a plan for all boards that at most the fraction `--risk` of them exceeds, chosen by their true
 * power among the plans for lowered caps. It estimates what a perfect predictor without rows would pay.
 *
 *   pnpm evaluate-risk [--boards 30] [--seed 909] [--rows 0,10,60] [--risk 0.05] [--groups 200] [board ...]
 */
import { boardVariants } from '@pctodl/gpu-sim'
import { partition } from '@pctodl/greedy-partition'
import { mean, SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, type PerfModel, refit } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'
import { rowOf } from './evaluation/measured-rows.js'
import { planLike, planMixes } from './evaluation/plan-mixes.js'
import { scriptOptions } from './evaluation/script-options.js'
import { measuredConfigurations, planProblems, randomMixes, truthOf } from './evaluation/unseen-boards.js'

const defaults = { boards: 30, seed: 909, rows: '0,10,60', risk: 0.05, groups: 200 }
const options = scriptOptions(import.meta.filename, defaults, true)
const known = options.rows.split(',').map(Number)
/** Probabilities of two standard deviations below and above the mean. */
const TWO_SIGMA = [0.02275, 0.97725]
const lines: Record<string, string | number>[] = []
const coverage: Record<string, string | number>[] = []

for (const board of options.positionals.length > 0 ? options.positionals : ['A100', '3080Ti']) {
  const model = loadPerfModel(board)
  const measured = measuredConfigurations(model, Math.max(...known, 1), `measured ${options.seed}`)
  const problems = planProblems(model, options.seed)
  const groups = groupsOf(model, options.groups)
  const planned = (of: PerfModel, i: number, risk?: number, powerCapW = problems[i]!.powerCapW) => {
    const careful = risk === undefined ? {} : { capExceedanceProbability: risk }
    const plan = partition(of, { ...problems[i]!, ...careful, powerCapW })
    return plan.feasible ? plan.configuration : undefined
  }
  const without = { free: problems.map((_, i) => planned(model, i)), careful: plansOf(model) }
  const truths = boardVariants(board, { count: options.boards, seed: options.seed }).map(truthOf)
  const judged = new Map(known.map((rows) => [rows, { excess: [] as number[], cost: [] as number[] }]))
  const inside = new Map(known.map((rows) => [rows, groups.map(noErrors)]))
  for (const truth of truths) {
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
        group.configurations.forEach((configuration, c) => {
          const ran = truth(configuration)
          const { throughput, powerW } = own.quantiles(configuration, TWO_SIGMA)
          found.power[c]!.push(sigmas(ran.powerW, powerW))
          found.throughput[c]!.push(sigmas(ran.throughput, throughput))
        })
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
      'throughput paid, %': paid(cost),
      'minimum without rows, %': rows === 0 ? paid(problems.flatMap((_, i) => minCosts(i))) : '',
    })
  }
  for (const [rows, found] of inside) {
    for (const quantity of ['power', 'throughput'] as const) {
      const errors = found.map((each) => each[quantity])
      const shares = errors.map(insideOf)
      const of = (name: string) => mean(shares.filter((_, g) => groups[g]!.name === name)).toFixed(1)
      coverage.push({
        board,
        rows,
        quantity,
        'groups 90 to 98.5 %': `${shares.filter(isRight).length} of ${shares.length}`,
        attainable: Math.round(attainable(errors)),
        'below 90 %': shares.filter((share) => share < 90).length,
        all: mean(shares).toFixed(1),
        random: of('random'),
        ...Object.fromEntries(planMixes.map((name) => [name, of(name)])),
      })
    }
  }

  /** Costs of the best of the plans under lowered caps, on each board. */
  function minCosts(i: number): number[] {
    const free = without.free[i]
    const { powerCapW } = problems[i]!
    const found = Array.from({ length: 25 }, (_, k) => planned(model, i, undefined, powerCapW * (1 - k / 100))).flatMap(
      (plan) => {
        const ran = plan === undefined ? [] : truths.map((truth) => truth(plan))
        const over = ran.filter(({ powerW }) => powerW > powerCapW).length
        if (free === undefined || ran.length === 0 || over > options.risk * ran.length) return []
        return [ran.map(({ throughput }, b) => Math.log(truths[b]!(free).throughput / throughput))]
      },
    )
    return found.sort((a, b) => mean(a) - mean(b))[0] ?? []
  }

  function plansOf(of: PerfModel) {
    return problems.map((_, i) => planned(of, i, options.risk))
  }
}
console.table(lines)
if (coverage.length > 0) console.table(coverage)

/** Mean loss of throughput, %, from the logarithms of the ratios. */
function paid(costs: readonly number[]): string {
  return (100 * (1 - Math.exp(-mean(costs)))).toFixed(1)
}

function noErrors({ configurations }: { readonly configurations: readonly Configuration[] }) {
  const lists = () => configurations.map((): number[] => [])
  return { power: lists(), throughput: lists() }
}

/** Error of a measured value, in standard deviations of its logarithm. */
function sigmas(value: number, [low, high]: readonly number[]): number {
  return (4 * (Math.log(value) - 0.5 * Math.log(low! * high!))) / Math.log(high! / low!)
}

/** Percentage of a group's errors within two standard deviations. */
function insideOf(group: readonly (readonly number[])[]): number {
  return 100 * mean(group.flat().map((error) => (Math.abs(error) <= 2 ? 1 : 0)))
}

function isRight(share: number): boolean {
  return share >= 90 && share <= 98.5
}

/**
 * Expected number of groups in the range if the variance of every error were right. The part that all boards share is
 * drawn again for each configuration; the rest is what was observed, scaled to the right variance.
 */
function attainable(groups: readonly (readonly (readonly number[])[])[]): number {
  const square = (list: readonly number[]) => mean(list.map((value) => value * value))
  const all = groups.flat()
  const common = square(all.map(mean)) / mean(all.map(square))
  const random = new SeededRandom(1)
  const draws = 20
  let right = 0
  for (let draw = 0; draw < draws; draw++) {
    for (const group of groups) {
      const drawn = group.map((errors) => {
        const shared = Math.sqrt(common) * random.normal()
        const centre = mean(errors)
        const rest = errors.map((error) => error - centre)
        const scale = Math.sqrt((1 - common) / square(rest))
        return rest.map((error) => shared + scale * error)
      })
      if (isRight(insideOf(drawn))) right++
    }
  }
  return right / draws
}

/** Groups of eight configurations each; random groups alternate with groups of the kinds that plans have. */
function groupsOf(model: PerfModel, count: number): { name: string; configurations: Configuration[] }[] {
  const names = ['random', ...planMixes] as const
  return Array.from({ length: count }, (_, g) => {
    const name = names[g % names.length]!
    const purpose = `group ${options.seed} ${g}`
    const configurations = name === 'random' ? randomMixes(model, 8, purpose) : planLike(model, 8, purpose, [name])
    return { name, configurations }
  })
}

/**
 * How right the shipped predictor is about boards that it was fitted to, and about their structural variants, on rows that it has
 * not seen: errors and coverage by group, and how many plans exceed their cap in truth. Truth is the simulator at the clock that
 * really ran.
 *
 *   pnpm evaluate-predictor [--plans 100] [--rows 1500] [--risk 0.05] [--variants 0] [--fit-rows 300] [board ...]
 */
import { parseArgs } from 'node:util'
import { boardVariants, calibratedBoards, type SimulatedBoard, simulateSteadyState } from '@pctodl/gpu-sim'
import { partition } from '@pctodl/greedy-partition'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { fitPerfModel, loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { findGpuSpec, type GpuSpec, smClocksAt, type Tenant } from '@pctodl/platform'
import { freshConfigurations } from './evaluation/fresh-configurations.js'
import { measuredRows } from './evaluation/measured-rows.js'
import { errorText, type Judged, judged } from './evaluation/prediction-errors.js'
import { profileDesign } from './profile-designs.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    plans: { type: 'string', default: '100' },
    rows: { type: 'string', default: '1500' },
    risk: { type: 'string', default: '0.05' },
    variants: { type: 'string', default: '0' },
    'fit-rows': { type: 'string', default: '300' },
  },
})
const boards = positionals.length > 0 ? positionals : calibratedBoards

for (const board of boards) {
  const variants = Number(values.variants)
  if (variants === 0) report(board, board, loadPerfModel(board))
  for (const variant of variants > 0 ? boardVariants(board, { count: variants }) : []) {
    const spec = findGpuSpec(board)
    const design = spreadOver(profileDesign(spec, 77), Number(values['fit-rows']))
    const rows = measuredRows(variant.name, design)
    const { parameters } = fitPerfModel(rows, spec, {
      source: `${rows.length} rows of ${variant.name}`,
      folds: 3,
      starts: 1,
      maxIterations: 25,
      from: loadPerfModel(board).parameters,
    })
    console.log(`\n${variant.name}: ${variant.differs}`)
    report(variant.name, board, new PerfModel(parameters))
  }
}

function report(truth: SimulatedBoard, board: string, model: PerfModel): void {
  const entries = judged(truth, model, freshConfigurations(model, Number(values.rows)))
  console.log(
    `\n${truth}, ${entries.length} fresh rows: median / 95th percentile, and within 1 and 2 standard deviations, %`,
  )
  console.table(groupsOf(model.spec).map(({ name, has }) => row(name, entries.filter(has))))
  console.table(plansOf(truth, board, model))
}

function row(group: string, entries: readonly Judged[]) {
  const pair = (of: 'throughput' | 'power') =>
    errorText(
      entries.map((entry) => entry[of]),
      2,
    )
  const within = (of: 'throughput' | 'power', sdOf: ({ predicted }: Judged) => number) =>
    [1, 2].map((sds) => share(entries, (entry) => Math.abs(entry[of]) <= sds * sdOf(entry))).join(' / ')
  if (entries.length === 0) return { group, rows: 0 }
  return {
    group,
    rows: entries.length,
    throughput: pair('throughput'),
    'its coverage': within('throughput', ({ predicted }) => predicted.throughputSd! / predicted.throughput),
    power: pair('power'),
    'coverage of it': within('power', ({ predicted }) => predicted.powerSdW! / predicted.powerW),
  }
}

function share<T>(entries: readonly T[], has: (entry: T) => boolean): string {
  return ((100 * entries.filter(has).length) / entries.length).toFixed(0)
}

function groupsOf(spec: GpuSpec): readonly { name: string; has: (entry: Judged) => boolean }[] {
  const every = (test: (tenant: Tenant) => boolean) => (entry: Judged) => entry.configuration.tenants.every(test)
  const part = ({ configuration: { smClockMhz, memClockMhz } }: Judged) => {
    const states = smClocksAt(spec, memClockMhz)!
    return (smClockMhz - states[0]!) / (states.at(-1)! - states[0]!)
  }
  return [
    { name: 'all', has: () => true },
    { name: 'batch 1-2', has: every((tenant) => tenant.batchSize <= 2) },
    { name: '9-20 tenants', has: (entry) => entry.configuration.tenants.length >= 9 },
    { name: 'lowest clocks', has: (entry) => part(entry) <= 0.15 },
    { name: 'highest clocks', has: (entry) => part(entry) >= 0.85 },
    { name: 'shares of 1-4 %', has: (entry) => entry.configuration.tenants.some((tenant) => tenant.mpsPercent < 5) },
    { name: 'several networks', has: (entry) => new Set(entry.configuration.tenants.map((t) => t.model)).size > 1 },
    { name: 'one tenant', has: (entry) => entry.configuration.tenants.length === 1 },
  ]
}

function plansOf(truth: SimulatedBoard, board: string, model: PerfModel) {
  const simulate = simulateSteadyState(truth)
  const random = new SeededRandom(seedFrom('plans', board))
  const risk = Number(values.risk)
  const { min, max } = model.spec.powerLimitW
  const wanted = Array.from({ length: Number(values.plans) }, (_, i) => ({
    models: model.networks[i % model.networks.length]!,
    powerCapW: Math.round(min + (0.95 * max - min) * random.uniform()),
    sharePercentStep: random.uniform() < 0.5 ? 5 : 10,
    budgetEvaluations: 1500,
  }))
  const rows = wanted.map((options) => {
    const plain = partition(model, options)
    const careful = partition(model, { ...options, capExceedanceProbability: risk })
    if (!plain.feasible || !careful.feasible) return undefined
    const judged = [plain, careful].map(({ configuration }) => {
      const ran = simulate(configuration)
      return { overW: ran.powerW - options.powerCapW, throughput: ran.throughput }
    })
    return {
      plain: judged[0]!,
      careful: judged[1]!,
      cost: 1 - careful.weightedThroughput / plain.weightedThroughput,
    }
  })
  const found = rows.filter((entry) => entry !== undefined)
  const over = (which: 'plain' | 'careful') => found.filter((entry) => entry[which].overW > 0)
  const worst = (which: 'plain' | 'careful') => Math.max(0, ...found.map((entry) => entry[which].overW)).toFixed(1)
  const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length
  return [
    { plans: 'without risk', count: found.length, 'over the cap': over('plain').length, 'worst, W': worst('plain') },
    {
      plans: `risk ${risk}`,
      count: found.length,
      'over the cap': over('careful').length,
      'worst, W': worst('careful'),
      'cost, predicted %': (100 * mean(found.map((entry) => entry.cost))).toFixed(2),
      'cost, true %': (
        100 * mean(found.map(({ plain, careful }) => 1 - careful.throughput / plain.throughput))
      ).toFixed(2),
    },
  ]
}

function spreadOver<T>(list: readonly T[], count: number): T[] {
  return Array.from({ length: count }, (_, i) => list[Math.floor((i * list.length) / count)]!)
}

/**
 * Measures errors and interval coverage of predictors, by group of configurations, on rows that no fit has seen. The
 * truth is the simulated board, or, with `--variants`, structural variants of it, at the clock that really ran. The
 * predictors are the shipped one (without `--from`), and fits to `--fit-rows` rows that start from the parameters of
 * the boards `--from` (`nothing`: no start; default: the board itself). The default number of rows is 300 with
 * `--variants`, 60 with `--from`, and otherwise 0 (no fit).
 *
 *   pnpm evaluate-predictor [--rows 1500] [--variants 0] [--fit-rows 60] [--from nothing,A100] [board ...]
 */
import { parseArgs } from 'node:util'
import { boardVariants, calibratedBoards, type SimulatedBoard } from '@pctodl/gpu-sim'
import { fitPerfModel, loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { findGpuSpec, type GpuSpec, smClocksAt, type Tenant } from '@pctodl/platform'
import { freshConfigurations } from './evaluation/fresh-configurations.js'
import { measuredRows } from './evaluation/measured-rows.js'
import { errorText, type Judged, judged } from './evaluation/prediction-errors.js'
import { profileDesign } from './profile-designs.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '1500' },
    variants: { type: 'string', default: '0' },
    'fit-rows': { type: 'string' },
    from: { type: 'string' },
  },
})
const variants = Number(values.variants)
const fitRows = Number(values['fit-rows'] ?? (variants > 0 ? 300 : values.from === undefined ? 0 : 60))

for (const board of positionals.length > 0 ? positionals : calibratedBoards) {
  const spec = findGpuSpec(board)
  const truths = variants > 0 ? boardVariants(board, { count: variants }) : [{ name: board, differs: 'as it ships' }]
  for (const { name, differs } of truths) {
    console.log(`\n${name}: ${differs}`)
    if (values.from === undefined) report(name, 'shipped', loadPerfModel(board))
    if (fitRows === 0) continue
    const rows = measuredRows(name, spreadOver(profileDesign(spec, 77), fitRows))
    for (const start of (values.from ?? board).split(',')) {
      if (values.from !== undefined && start === spec.key) continue
      const { parameters } = fitPerfModel(rows, spec, {
        source: `${rows.length} rows of ${name}`,
        folds: 3,
        starts: 1,
        maxIterations: 25,
        ...(start === 'nothing' ? {} : { from: loadPerfModel(start).parameters }),
      })
      report(name, `fitted to ${rows.length} rows, begun at ${start}`, new PerfModel(parameters, spec))
    }
  }
}

function report(truth: SimulatedBoard, parameters: string, model: PerfModel): void {
  const entries = judged(truth, model, freshConfigurations(model, Number(values.rows)))
  console.log(
    `\n${truth}, parameters ${parameters}, ${entries.length} fresh rows: median / 95th percentile, and within 1 and 2 standard deviations, %`,
  )
  console.table(groupsOf(model.spec).map(({ name, has }) => row(name, entries.filter(has))))
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

function spreadOver<T>(list: readonly T[], count: number): T[] {
  return Array.from({ length: count }, (_, i) => list[Math.floor((i * list.length) / count)]!)
}

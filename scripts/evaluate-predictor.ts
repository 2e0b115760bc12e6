/**
 * Measures errors and interval coverage of predictors, by group of configurations, on rows that no fit has seen. The
 * truth is the simulated board, or, with `--variants`, structural variants of it, at the clock that really ran.
 *
 *   pnpm evaluate-predictor [--rows 1500] [--variants 0] [--fit-rows 60,300] [--from nothing,A100] [--designs random,active] [board ...]
 *   pnpm evaluate-new-networks [--rows 6000] [board ...]
 *
 * The predictors are the shipped one, and fits to `--fit-rows` rows of `--designs`: random mixes (`pctodl profile
 * --mixes`, the default) or the rows of `pctodl profile --design active`. A fit starts from the parameters of the board
 * itself or of the boards `--from` (`nothing`: no start); the shipped predictor is then left out. Without `--fit-rows`,
 * there are 300 rows with `--variants`, 60 with `--from`, and otherwise no fit.
 *
 * `pnpm evaluate-new-networks` removes each network from the shipped predictor and adds it again, from its graph alone
 * and from its graph and ten rows. The rows are those whose tenants all run the network.
 */
import { boardVariants, calibratedBoards } from '@pctodl/gpu-sim'
import { partition } from '@pctodl/greedy-partition'
import { layerGraph, networkWork } from '@pctodl/model-zoo'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { addNetwork, fitPerfModel, loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { type Configuration, findGpuSpec, type GpuSpec, networkNames, smClocksAt, type Tenant } from '@pctodl/platform'
import { activeSweep, mixSweep } from '@pctodl/profiler'
import { knownOfBoard } from '../packages/profiler/src/plan/active-design.js'
import { freshConfigurations } from './evaluation/fresh-configurations.js'
import { measuredRows } from './evaluation/measured-rows.js'
import { errorText, fits, type Judged, judged } from './evaluation/prediction-errors.js'
import { scriptOptions } from './evaluation/script-options.js'

const defaults = { rows: 1500, variants: 0, 'fit-rows': '', from: '', designs: 'random', 'new-networks': false }
const { variants, positionals, ...options } = scriptOptions(import.meta.filename, defaults, true)
/** Number of random configurations that are measured for a new network. */
const ROWS_OF_NEW = 10
const fitRows = (options['fit-rows'] || (variants > 0 ? '300' : options.from && '60'))
  .split(',')
  .filter(Boolean)
  .map(Number)

for (const board of positionals.length > 0 ? positionals : calibratedBoards) {
  if (options['new-networks']) evaluateNewNetworks(board)
  else await evaluateFits(board)
}

async function evaluateFits(board: string): Promise<void> {
  const spec = findGpuSpec(board)
  const truths = variants > 0 ? boardVariants(board, { count: variants }) : [{ name: board, differs: 'as it ships' }]
  for (const { name, differs } of truths) {
    console.log(`\n${name}: ${differs}`)
    const fresh = (model: PerfModel) => freshConfigurations(model, options.rows)
    const reportModel = (title: string, model: PerfModel) => {
      const entries = judged(name, model, fresh(model))
      report(`${name}, parameters ${title}`, [
        ...groupsOf(spec).map(({ group, has }) => ({ group, entries: entries.filter(has) })),
        { group: 'plans for 42 caps', entries: judged(name, model, plansOf(model)) },
      ])
    }
    if (options.from === '') reportModel('shipped', loadPerfModel(board))
    for (const count of fitRows) {
      for (const design of options.designs.split(',')) {
        const rows = measuredRows(name, await designOf(design, spec, count))
        for (const start of (options.from || board).split(',')) {
          if (options.from !== '' && start === spec.key) continue
          const { parameters } = fitPerfModel(rows, spec, {
            source: `${count} rows of ${name}`,
            folds: 3,
            starts: 1,
            maxIterations: 25,
            ...(start === 'nothing' ? {} : { from: loadPerfModel(start).parameters }),
          })
          reportModel(`fitted to ${count} ${design} rows, begun at ${start}`, new PerfModel(parameters, spec))
        }
      }
    }
  }
}

function evaluateNewNetworks(board: string): void {
  const whole = loadPerfModel(board)
  const { parameters, spec } = whole
  const fresh = freshConfigurations(whole, options.rows)
  for (const name of whole.networks) {
    const { profile } = parameters
    const isOther = (network: { readonly name: string }) => network.name !== name
    const networks = parameters.networks.filter(isOther)
    const others = new PerfModel(
      { ...parameters, networks, profile: { ...profile, networks: profile.networks.filter(isOther) } },
      spec,
    )
    const known = Object.fromEntries(others.networks.map((other) => [other, networkWork(layerGraph(other))]))
    const work = networkWork(layerGraph(name))
    const own = fresh.filter((wanted) => wanted.tenants.every(({ model }) => model === name) && fits(whole, wanted))
    const rows = measuredRows(board, own.slice(0, ROWS_OF_NEW))
    const models = {
      'from its graph': addNetwork(others, name, work, { known }),
      'with ten rows': addNetwork(others, name, work, { known, rows }),
      'fitted to it': whole,
    }
    report(
      `${board}, ${name}`,
      Object.entries(models).map(([group, model]) => ({
        group,
        entries: judged(board, model, own.slice(ROWS_OF_NEW)),
      })),
    )
  }
}

/** Configurations of a design, in equal parts at the board's performance memory clocks. */
async function designOf(design: string, spec: GpuSpec, count: number): Promise<Configuration[]> {
  const clocks = spec.performanceMemClocksMhz
  const known = design === 'active' ? await knownOfBoard(spec, networkNames) : undefined
  return clocks.flatMap((memClockMhz, i) => {
    const own = Math.floor(((i + 1) * count) / clocks.length) - Math.floor((i * count) / clocks.length)
    const options = { count: own, seed: 1 }
    const rows = known
      ? activeSweep(spec, networkNames, memClockMhz, { ...known, ...options })
      : mixSweep(spec, networkNames, memClockMhz, options)
    return rows.map(({ tenants, smClockMhz }) => ({ tenants, smClockMhz: smClockMhz!, memClockMhz }))
  })
}

/** Plans at caps over the range of the board's limits, each for one network. */
function plansOf(model: PerfModel): Configuration[] {
  const { min, max } = model.spec.powerLimitW
  const random = new SeededRandom(seedFrom('design plans', model.spec.key))
  return Array.from({ length: 42 }, (_, i) =>
    partition(model, {
      models: model.networks[i % model.networks.length]!,
      powerCapW: min + (0.95 * max - min) * random.uniform(),
      budgetEvaluations: 800,
    }),
  ).flatMap((found) => (found.feasible ? [found.configuration] : []))
}

function report(title: string, groups: readonly { readonly group: string; readonly entries: readonly Judged[] }[]) {
  console.log(`\n${title}: median / 95th percentile of errors, and within 1 and 2 standard deviations, %`)
  console.table(groups.map(({ group, entries }) => row(group, entries)))
}

function row(group: string, entries: readonly Judged[]) {
  if (entries.length === 0) return { group, rows: 0 }
  const errors = (of: 'throughput' | 'power') =>
    errorText(
      entries.map((entry) => entry[of]),
      2,
    )
  const within = (of: 'throughput' | 'power', sdOf: (predicted: Judged['predicted']) => number) =>
    [1, 2]
      .map((sds) => entries.filter((entry) => Math.abs(entry[of]) <= sds * sdOf(entry.predicted)).length)
      .map((count) => ((100 * count) / entries.length).toFixed(0))
      .join(' / ')
  return {
    group,
    rows: entries.length,
    throughput: errors('throughput'),
    'its coverage': within('throughput', ({ throughput, throughputSd }) => throughputSd! / throughput),
    power: errors('power'),
    'coverage of it': within('power', ({ powerW, powerSdW }) => powerSdW! / powerW),
  }
}

function groupsOf(spec: GpuSpec): readonly { group: string; has: (entry: Judged) => boolean }[] {
  const every = (test: (tenant: Tenant) => boolean) => (entry: Judged) => entry.configuration.tenants.every(test)
  const part = ({ configuration: { smClockMhz, memClockMhz } }: Judged) => {
    const states = smClocksAt(spec, memClockMhz)!
    return (smClockMhz - states[0]!) / (states.at(-1)! - states[0]!)
  }
  return [
    { group: 'all', has: () => true },
    { group: 'batch 1-2', has: every((tenant) => tenant.batchSize <= 2) },
    { group: '9-20 tenants', has: (entry) => entry.configuration.tenants.length >= 9 },
    { group: 'lowest clocks', has: (entry) => part(entry) <= 0.15 },
    { group: 'highest clocks', has: (entry) => part(entry) >= 0.85 },
    { group: 'shares of 1-4 %', has: (entry) => entry.configuration.tenants.some((tenant) => tenant.mpsPercent < 5) },
    { group: 'several networks', has: (entry) => new Set(entry.configuration.tenants.map((t) => t.model)).size > 1 },
    { group: 'one tenant', has: (entry) => entry.configuration.tenants.length === 1 },
  ]
}

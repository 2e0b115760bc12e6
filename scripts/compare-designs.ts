/**
 * Compares three designs of measurements. For each variant of a board and each number of rows, the predictor is fitted
 * to rows of the shipped design, to random mixes (`pctodl profile --mixes`) and to rows of `pctodl profile --design
 * active`. All fits start from the shipped parameters. Errors are measured on rows that are in no design, and on the
 * plans that each fit leads to. Truth is the simulated variant at the clock that really ran.
 *
 *   pnpm compare-designs [--rows 60,150,300] [--variants 2] [board ...]
 */
import { parseArgs } from 'node:util'
import { boardVariants, calibratedBoards, type SimulatedBoard } from '@pctodl/gpu-sim'
import { partition } from '@pctodl/greedy-partition'
import { SeededRandom, seedFrom, shuffled } from '@pctodl/numerics'
import { fitPerfModel, loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { type Configuration, findGpuSpec, type GpuSpec, networkNames } from '@pctodl/platform'
import { activeSweep, mixSweep } from '@pctodl/profiler'
import { knownOfBoard } from '../packages/profiler/src/active-design.js'
import { freshConfigurations } from './evaluation/fresh-configurations.js'
import { measuredRows } from './evaluation/measured-rows.js'
import { errorText, judged } from './evaluation/prediction-errors.js'
import { profileDesign } from './profile-designs.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '60,150,300' },
    variants: { type: 'string', default: '2' },
  },
})
const counts = values.rows.split(',').map(Number)
const boards = positionals.length > 0 ? positionals : calibratedBoards
const designs = ['shipped', 'random', 'active'] as const
const errors = new Map<string, number[]>()

for (const board of boards) {
  const spec = findGpuSpec(board)
  const known = await knownOfBoard(spec, networkNames, undefined)
  for (const { name: truth } of boardVariants(board, { count: Number(values.variants) })) {
    for (const count of counts) {
      for (const design of designs) {
        const rows = measuredRows(truth, configurationsOf(design, spec, count, known))
        const model = fitted(rows, spec)
        note(`${design} ${count} held-out`, truth, heldOut(model), model)
        note(`${design} ${count} plans`, truth, plans(model), model)
        console.error(`${truth}, ${rows.length} ${design} rows: done`)
      }
    }
  }
}
console.log('| rows | design | held-out throughput, % | power, % | throughput of plans, % | power, % |')
console.log('|---|---|---|---|---|---|')
for (const count of counts) {
  for (const design of designs) {
    const cell = (where: string, of: string) => {
      return errorText(errors.get(`${design} ${count} ${where} ${of}`)!)
    }
    const cells = ['held-out', 'plans'].flatMap((where) => [cell(where, 'throughput'), cell(where, 'power')])
    console.log(`| ${count} | ${design} | ${cells.join(' | ')} |`)
  }
}

function configurationsOf(
  design: (typeof designs)[number],
  spec: GpuSpec,
  count: number,
  known: Awaited<ReturnType<typeof knownOfBoard>>,
): Configuration[] {
  const clocks = spec.performanceMemClocksMhz
  if (design === 'shipped') {
    const all = profileDesign(spec, 77)
    return shuffled(all, new SeededRandom(seedFrom('designs', spec.key))).slice(0, count)
  }
  return clocks.flatMap((memClockMhz, i) => {
    const own = Math.floor(((i + 1) * count) / clocks.length) - Math.floor((i * count) / clocks.length)
    const rows =
      design === 'active'
        ? activeSweep(spec, networkNames, memClockMhz, { ...known, count: own, seed: 1 })
        : mixSweep(spec, networkNames, memClockMhz, { count: own, seed: 1 })
    return rows.map(({ tenants, smClockMhz }) => ({ tenants, smClockMhz: smClockMhz!, memClockMhz }))
  })
}

function fitted(rows: Parameters<typeof fitPerfModel>[0], spec: GpuSpec): PerfModel {
  const { parameters } = fitPerfModel(rows, spec, {
    source: `${rows.length} rows`,
    folds: 2,
    starts: 1,
    maxIterations: 15,
    from: loadPerfModel(spec.key).parameters,
  })
  return new PerfModel(parameters)
}

function heldOut(model: PerfModel): Configuration[] {
  return freshConfigurations(model, 600)
}

/** Plans at caps over the range of the board's limits, each for one network. */
function plans(model: PerfModel): Configuration[] {
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

function note(key: string, truth: SimulatedBoard, configurations: readonly Configuration[], model: PerfModel): void {
  for (const entry of judged(truth, model, configurations)) {
    for (const what of ['throughput', 'power'] as const) {
      const name = `${key} ${what}`
      errors.set(name, [...(errors.get(name) ?? []), entry[what]])
    }
  }
}

import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { partition } from '@pctodl/greedy-partition'
import { loadPerfModel } from '@pctodl/perf-model'
import { type Configuration, smClocksAt } from '@pctodl/platform'
import { chartConfig, palette, renderPng, renderSvg, type TopLevelSpec } from '@pctodl/report/charts'

/**
 * What if the rack gave this board less power? What if everything ran in one process?
 *
 * Finds the best predicted partition under every cap, and the best configuration of a single process. Compares both
 * with the steady state of the simulated board, whose equations the predictor does not know.
 *
 *   npx tsx --conditions=@pctodl/source examples/what-if.ts [folder]
 */

const board = 'A100'
const model = 'resnet50'
const capsW = [80, 100, 120, 140, 160, 180, 200, 220, 240]
const folder = process.argv[2] ?? path.join(import.meta.dirname, 'out')

const predictor = loadPerfModel(board)
const memClockMhz = predictor.memClocksMhz[0]!
// The board's own power limit is raised out of the way, so that the board runs the predicted clock.
const simulate = simulateSteadyState(board, { powerLimitW: 1e9 })

interface Answer {
  readonly who: 'partitioned' | 'one process'
  readonly capW: number
  readonly promised: number
  readonly throughput: number
  readonly powerW: number
  readonly perJoule: number
  readonly configuration: Configuration
}

function answer(who: Answer['who'], capW: number, configuration: Configuration): Answer {
  const promised = predictor.predict(configuration).throughput
  const { throughput, powerW } = simulate(configuration)
  return { who, capW, promised, throughput, powerW, perJoule: throughput / powerW, configuration }
}

/** The best batch size for one process that has the whole board. */
function oneProcess(capW: number): Answer | undefined {
  return [8, 16, 32, 64, 128, 256]
    .flatMap((batchSize) => {
      const tenants = [{ model, mpsPercent: 100, batchSize }]
      const smClockMhz = predictor.solveSmClock(tenants, memClockMhz, capW)
      return smClockMhz === undefined ? [] : [answer('one process', capW, { tenants, smClockMhz, memClockMhz })]
    })
    .sort((a, b) => b.promised - a.promised)[0]
}

const answers: Answer[] = []
for (const capW of capsW) {
  const plan = partition(predictor, { models: model, powerCapW: capW })
  if (plan.feasible) answers.push(answer('partitioned', capW, plan.configuration))
  else console.log(plan.message)
  const alone = oneProcess(capW)
  if (alone) answers.push(alone)
}

console.log(`${model} on a simulated ${board}: what each cap gives`)
console.log('cap W  who           tenants  SM MHz  promised/s  truth/s  truth W  samples/J')
for (const { who, capW, promised, throughput, powerW, perJoule, configuration } of answers) {
  const row = [configuration.tenants.length, configuration.smClockMhz, promised, throughput, powerW].map((value, i) =>
    value.toFixed(i === 4 ? 1 : 0).padStart([9, 8, 12, 9, 9][i]!),
  )
  console.log(`${String(capW).padStart(5)}  ${who.padEnd(12)}${row.join('')}${perJoule.toFixed(1).padStart(11)}`)
}

/** Samples per joule of two tenants with half of the board each, at different clocks. */
const alongTheClock = smClocksAt(predictor.spec, memClockMhz)!
  .filter((_, i) => i % 4 === 0)
  .flatMap((smClockMhz) =>
    [8, 32, 128].map((batchSize) => {
      const half = { model, mpsPercent: 50, batchSize }
      const { throughput, powerW } = predictor.predict({ tenants: [half, half], smClockMhz, memClockMhz })
      return { smClockMhz, batchSize: `2 x 50 %, batch ${batchSize}`, perJoule: throughput / powerW }
    }),
  )

const caps: TopLevelSpec = {
  width: 420,
  height: 300,
  title: { text: 'What a watt buys', subtitle: `${model}, simulated ${board}: line promised, dots true` },
  data: { values: answers.map(({ who, capW, promised, throughput }) => ({ who, capW, promised, throughput })) },
  encoding: {
    x: { field: 'capW', type: 'quantitative', title: 'power cap, W', scale: { zero: false } },
    color: { field: 'who', type: 'nominal', title: null, scale: { range: palette.slice(0, 2) } },
  },
  layer: [
    { mark: 'line', encoding: { y: { field: 'promised', type: 'quantitative', title: 'samples/s' } } },
    { mark: { type: 'point', filled: true, size: 60 }, encoding: { y: { field: 'throughput', type: 'quantitative' } } },
  ],
}
const efficiency: TopLevelSpec = {
  width: 420,
  height: 300,
  title: { text: 'Where a joule goes furthest', subtitle: 'predicted, along the SM clock' },
  data: { values: alongTheClock },
  mark: 'line',
  encoding: {
    x: { field: 'smClockMhz', type: 'quantitative', title: 'SM clock, MHz', scale: { zero: false } },
    y: { field: 'perJoule', type: 'quantitative', title: 'samples/J' },
    color: {
      field: 'batchSize',
      type: 'nominal',
      title: null,
      sort: ['2 x 50 %, batch 8', '2 x 50 %, batch 32', '2 x 50 %, batch 128'],
      scale: { range: palette.slice(2, 5) },
    },
  },
}

mkdirSync(folder, { recursive: true })
const svg = await renderSvg({
  config: chartConfig,
  hconcat: [caps, efficiency],
  resolve: { scale: { color: 'independent' } },
} as TopLevelSpec)
writeFileSync(path.join(folder, 'what-if.svg'), svg)
writeFileSync(path.join(folder, 'what-if.png'), await renderPng(svg, 1400))
console.log(`Written: ${path.join(folder, 'what-if.svg')}, what-if.png`)

import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import {
  exampleFolder,
  latencyGateMs,
  loadObjectives,
  loadProfiles,
  planSegments,
  scenarioAt,
} from '@pctodl/mig-segments'
import { drawMap } from '@pctodl/mig-segments/deploy'
import { findGpuSpec, findMigBoard } from '@pctodl/platform'
import { ALARM_COLOR, chartConfig, palette, renderPng, renderSvg, type TopLevelSpec } from '@pctodl/report/charts'
import { type BoardAtClock, keepsObjectives, meetBudget } from './power-budget.js'
import { measureBoard } from './run-planned-gpu.js'

/**
 * Packs seven services onto few GPUs, then fits these GPUs into a power budget without missing an objective.
 *
 * The plan comes from `@pctodl/mig-segments`. The power and the throughput of a planned GPU at a clock come from a
 * simulated board that is divided and loaded as planned. The budget is met by lowering clocks where that costs least.
 *
 *   npx tsx --conditions=@pctodl/source examples/cluster-packing.ts [folder]
 */

const board = 'A100-80GB'
const budgetShare = 0.96
const folder = process.argv[2] ?? path.join(import.meta.dirname, 'out')

const profiles = loadProfiles(exampleFolder(board))
const objectives = scenarioAt(
  loadObjectives(
    exampleFolder('example-objectives'),
    profiles.map(({ model }) => model),
  ),
  3,
)
const plan = await planSegments(profiles, objectives)
console.log(
  `${objectives.length} services on ${plan.gpuCount} x ${board}; no plan needs fewer than ${plan.lowerBoundGpus}`,
)
for (const { message } of plan.unserved) console.log(message)

// Profiles were measured at the base clock. The plan meets the objectives at this clock, and clocks are only lowered
// from it.
const { baseClockMhz } = findGpuSpec(board)
const clocksMhz = Array.from({ length: 7 }, (_, i) => baseClockMhz - 75 * i)
const measured: BoardAtClock[][] = []
for (const gpu of plan.gpus) {
  const choices: BoardAtClock[] = []
  for (const smClockMhz of clocksMhz) choices.push(await measureBoard(board, gpu, smClockMhz))
  measured.push(choices)
}

const limits = new Map(objectives.map(({ model, latencyMs }) => [model, latencyGateMs(latencyMs)]))
const rates = new Map(plan.served.map(({ model, ratePerS }) => [model, ratePerS]))
const atBase = measured.map(() => 0)
const fullW = measured.reduce((sum, [choice]) => sum + choice!.powerW, 0)
const budgetW = budgetShare * fullW
console.log(`at ${baseClockMhz} MHz and full load they draw ${fullW.toFixed(0)} W; budget ${budgetW.toFixed(0)} W`)
if (!keepsObjectives(measured, atBase, rates, limits))
  console.log('the simulated boards do not keep what the plan promised')

const { chosen, totalW, met } = meetBudget(measured, budgetW, rates, limits)
console.log(
  met ? `met: ${totalW.toFixed(0)} W` : `not met: ${totalW.toFixed(0)} W is the least that keeps every objective`,
)
console.log('GPU  SM MHz  watts  was    segments')
chosen.forEach((choice, gpu) => {
  const { smClockMhz, powerW, segments } = measured[gpu]![choice]!
  const models = segments.map(({ model }) => model).join(' ')
  const figures = [smClockMhz, powerW, measured[gpu]![0]!.powerW].map((value) => value.toFixed(0).padStart(6))
  console.log(`${String(gpu).padStart(3)}${figures.join(' ')}    ${models}`)
})
console.log('service            asked/s  delivered/s  batch ms  allowed ms')
for (const [model, ratePerS] of rates) {
  const own = chosen.flatMap((choice, gpu) => measured[gpu]![choice]!.segments.filter((each) => each.model === model))
  const throughput = own.reduce((sum, segment) => sum + segment.throughput, 0)
  const figures = [ratePerS, throughput, Math.max(...own.map(({ latencyMs }) => latencyMs)), limits.get(model)!]
  console.log(
    `${model.padEnd(18)}${figures.map((value, i) => value.toFixed(0).padStart([8, 13, 10, 12][i]!)).join('')}`,
  )
}

const bars = chosen.flatMap((choice, gpu) => [
  { gpu: `GPU ${gpu}`, when: `all at ${baseClockMhz} MHz`, powerW: measured[gpu]![0]!.powerW },
  { gpu: `GPU ${gpu}`, when: 'clocks lowered', powerW: measured[gpu]![choice]!.powerW },
])
const chart = {
  config: chartConfig,
  width: 620,
  height: 260,
  title: {
    text: `${plan.gpuCount} x ${board}: ${fullW.toFixed(0)} W before, ${totalW.toFixed(0)} W now`,
    subtitle: `budget ${budgetW.toFixed(0)} W${met ? '' : ', not met'} (dashed: its even share); every service keeps its rate and its latency`,
  },
  data: { values: bars },
  layer: [
    {
      mark: 'bar',
      encoding: {
        x: { field: 'gpu', type: 'nominal', title: null, axis: { labelAngle: 0 } },
        xOffset: { field: 'when' },
        y: { field: 'powerW', type: 'quantitative', title: 'true power, W' },
        color: { field: 'when', type: 'nominal', title: null, scale: { range: [palette[5], palette[0]] } },
      },
    },
    {
      mark: { type: 'rule', strokeDash: [4, 3], color: ALARM_COLOR, strokeWidth: 1.5 },
      encoding: { y: { datum: budgetW / plan.gpuCount } },
    },
  ],
} as TopLevelSpec

mkdirSync(folder, { recursive: true })
const svg = await renderSvg(chart)
writeFileSync(path.join(folder, 'power-budget.svg'), svg)
writeFileSync(path.join(folder, 'power-budget.png'), await renderPng(svg, 1200))
writeFileSync(path.join(folder, 'cluster-map.svg'), drawMap(plan.gpus, findMigBoard(board)))
console.log(`Written: ${path.join(folder, 'power-budget.svg')}, power-budget.png, cluster-map.svg`)

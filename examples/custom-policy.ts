import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createPolicy, tasksOf } from '@pctodl/bench-runner'
import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { capSchedule, VirtualClock } from '@pctodl/platform'
import { ALARM_COLOR, chartConfig, palette, renderPng, renderSvg, type TopLevelSpec } from '@pctodl/report/charts'
import { evaluate, RunRecorder } from '@pctodl/report/evaluate'
import { type PowerCapPolicy, runPolicy } from '@pctodl/scheduler'
import { CautiousSteps } from './cautious-steps.js'

/**
 * Compares your own policy with pctodl and the baselines, on the same board with the same caps, by the board's true
 * power.
 *
 *   npx tsx --conditions=@pctodl/source examples/custom-policy.ts [folder]
 */

const board = '3080Ti'
const model = 'resnet50'
const caps = capSchedule([
  { atMs: 0, powerCapW: 200 },
  { atMs: 60_000, powerCapW: 150 },
  { atMs: 120_000, powerCapW: 180 },
])
const opponents = ['pctodl', 'morak', 'batchdvfs', 'directcap', 'powercap'] as const
const folder = process.argv[2] ?? path.join(import.meta.dirname, 'out')

const predictor = loadPerfModel(board)
const [task] = tasksOf(board, [6])
const policies: readonly PowerCapPolicy[] = [
  new CautiousSteps(predictor.spec, { model, mpsPercent: 25, batchSize: 32 }, 4),
  ...opponents.map((name) => createPolicy(name, { ...task!, model })),
]

interface Second {
  readonly policy: string
  readonly timeS: number
  readonly powerW: number
  readonly capW: number
}

const seconds: Second[] = []
console.log(`${model} on a simulated ${board}, caps 200, 150, 180 W for a minute each; true power`)
console.log('policy           samples/s  within the cap  above the cap  cap used  samples/J')
for (const policy of policies) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock, seed: 1 })
  const energyJ = () => gpu.truth().meteredEnergyJ
  const recorder = new RunRecorder(energyJ)
  let beforeJ = energyJ()
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy,
    caps,
    iterations: 36,
    onEvent: (event) => recorder.add(event),
    onSample: (timeMs, _, capW) => {
      if (timeMs % 1000 !== 0) return
      seconds.push({ policy: policy.name, timeS: timeMs / 1000, powerW: energyJ() - beforeJ, capW })
      beforeJ = energyJ()
    },
  })
  const { whole, steady } = evaluate(recorder.recording())
  const figures = [
    whole.throughput?.toFixed(0).padStart(10),
    whole.compliantThroughput?.toFixed(0).padStart(14),
    `${whole.violationPercent?.toFixed(1)} %`.padStart(13),
    `${steady.capUtilisationPercent?.toFixed(0)} %`.padStart(8),
    (1 / whole.energyPerSampleJ!).toFixed(2).padStart(9),
  ]
  console.log(`${policy.name.padEnd(15)} ${figures.join('  ')}`)
}

const names = policies.map(({ name }) => name)
const chart = {
  config: chartConfig,
  data: { values: seconds },
  facet: { field: 'policy', type: 'nominal', title: null, sort: names, header: { labelFontSize: 14 } },
  columns: 2,
  spec: {
    width: 460,
    height: 150,
    encoding: { x: { field: 'timeS', type: 'quantitative', title: 'time, s' } },
    layer: [
      {
        mark: { type: 'line', interpolate: 'step-after', strokeWidth: 1.5 },
        encoding: {
          y: { field: 'powerW', type: 'quantitative', title: 'true power, W' },
          color: { field: 'policy', legend: null, sort: names, scale: { range: palette.slice(0, names.length) } },
        },
      },
      {
        mark: { type: 'line', interpolate: 'step-after', strokeDash: [4, 3], color: ALARM_COLOR },
        encoding: { y: { field: 'capW', type: 'quantitative' } },
      },
    ],
  },
} as TopLevelSpec

mkdirSync(folder, { recursive: true })
const svg = await renderSvg(chart)
writeFileSync(path.join(folder, 'custom-policy.svg'), svg)
writeFileSync(path.join(folder, 'custom-policy.png'), await renderPng(svg, 1400))
console.log(`Written: ${path.join(folder, 'custom-policy.svg')}, custom-policy.png`)

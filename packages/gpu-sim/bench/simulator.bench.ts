/**
 * What the simulator costs: a steady state, a second of a running board, an oracle.
 *
 *   pnpm --filter @pctodl/gpu-sim bench
 */
import { findGpuSpec, type Tenant, VirtualClock } from '@pctodl/platform'
import { Bench } from 'tinybench'
import { findOracle, SimulatedGpu, SimulatedTenants, simulateSteadyState } from '../src/index.js'

const unlike: Tenant[] = [
  { model: 'resnet50', mpsPercent: 20, batchSize: 32 },
  { model: 'vgg19', mpsPercent: 25, batchSize: 16 },
  { model: 'maxvit_t', mpsPercent: 20, batchSize: 8 },
  { model: 'densenet201', mpsPercent: 15, batchSize: 16 },
  { model: 'mobilenet_v2', mpsPercent: 20, batchSize: 64 },
]
const SECONDS = 10

const bench = new Bench({ time: 2000, warmupTime: 500 })
for (const board of ['3080Ti', 'A100']) {
  const memClockMhz = findGpuSpec(board).performanceMemClocksMhz[0]!
  const simulate = simulateSteadyState(board, { powerLimitW: 1e9 })
  let i = 0
  bench.add(`steady state of five unlike tenants, ${board}`, () => {
    simulate({ tenants: unlike, smClockMhz: 1005 + 15 * (i++ % 20), memClockMhz })
  })
  const throttled = simulateSteadyState(board, { powerLimitW: 180 })
  bench.add(`the same held down by a power limit, ${board}`, () => {
    throttled({ tenants: unlike, smClockMhz: 1410, memClockMhz })
  })
}
for (const board of ['3080Ti', 'A100']) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock })
  await new SimulatedTenants(gpu).apply(unlike)
  bench.add(`${SECONDS} simulated seconds of five unlike tenants, ${board}`, async () => {
    await clock.sleep(SECONDS * 1000)
    gpu.catchUp()
  })
}
await bench.run()
console.table(
  bench.tasks.map(({ name, result }) => {
    if (result.state !== 'completed') throw new Error(`${name}: ${result.state}`)
    const { p50, p99 } = result.latency
    return { task: name, 'median us': (1000 * p50).toFixed(1), 'p99 us': (1000 * p99).toFixed(1) }
  }),
)

for (const [board, model, capW] of [
  ['3080Ti', 'resnet50', 200],
  ['3080Ti', 'densenet201', 200],
  ['A100', 'maxvit_t', 180],
] as const) {
  const start = performance.now()
  const { throughput, evaluations } = findOracle(board, model, capW)
  const seconds = ((performance.now() - start) / 1000).toFixed(2)
  console.log(
    `oracle of ${model} on ${board} at ${capW} W: ${throughput.toFixed(1)}/s, ${evaluations} evaluations, ${seconds} s`,
  )
}

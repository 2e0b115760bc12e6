import { loadPerfModel } from '@pctodl/perf-model'
import { gpuSpecs } from '@pctodl/platform'
import { Bench } from 'tinybench'
import { exhaustive, lowestFeasibleCap, partition } from '../src/index.js'
import { SyntheticPredictor } from '../test/synthetic-predictor.js'

// Times of the searches with the shipped models. A predictor without cost shows the time of the search itself.
const free = new (class extends SyntheticPredictor {
  override predict({ tenants }: Parameters<SyntheticPredictor['predict']>[0]) {
    const throughput = tenants.reduce(
      (sum, { mpsPercent, batchSize }) => sum + (Math.sqrt(mpsPercent) * batchSize) / (batchSize + mpsPercent),
      0,
    )
    return { throughput, powerW: 100, smUtilPercent: 0, memUtilPercent: 0, tenants: [] }
  }
  override solveSmClock() {
    return 900
  }
})(gpuSpecs['3080Ti']!)

const bench = new Bench({ time: 500, warmupTime: 200 })
for (const board of ['3080Ti', 'A100']) {
  const model = loadPerfModel(board)
  const options = { models: 'resnet50', powerCapW: 200 }
  const now = () => performance.now()
  bench
    .add(`${board}: greedy stage, step 5`, () => partition(model, { ...options, improve: false }))
    .add(`${board}: default budget of evaluations, step 5`, () => partition(model, options))
    .add(`${board}: default budget of time, step 5`, () => partition(model, { ...options, now }))
    .add(`${board}: default, step 10`, () => partition(model, { ...options, sharePercentStep: 10 }))
    .add(`${board}: exhaustive, step 20`, () => exhaustive(model, { ...options, sharePercentStep: 20 }))
    .add(`${board}: lowest feasible cap`, () => lowestFeasibleCap(model, { models: 'resnet50' }))
}
bench.add('default, step 5, predictor that costs nothing', () => partition(free, { models: 'middle', powerCapW: 200 }))
await bench.run()

console.table(
  bench.tasks.map(({ name, result }) => {
    if (result.state !== 'completed') throw new Error(`${name}: ${result.state}`)
    return { search: name, 'median ms': result.latency.p50.toFixed(2), 'p99 ms': result.latency.p99.toFixed(2) }
  }),
)

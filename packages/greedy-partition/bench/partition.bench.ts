import { gpuSpecs } from '@pctodl/platform'
import { Bench } from 'tinybench'
import { exhaustive, lowestFeasibleCap, type PartitionOptions, partition } from '../src/index.js'
import { SyntheticPredictor } from '../test/synthetic-predictor.js'

// The synthetic predictor of the tests solves a clock by bisection, so nearly all of the time shown is its own; the number
// of its predictions is shown beside, and a run with a predictor that costs nothing shows what the search itself takes.
const synthetic = new SyntheticPredictor(gpuSpecs['3080Ti']!)
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

const options: PartitionOptions = { models: 'middle', powerCapW: 200 }
const tasks: Record<string, () => unknown> = {
  'greedy stage, step 5': () => partition(synthetic, { ...options, improve: false }),
  'default, step 5': () => partition(synthetic, options),
  'default, step 10': () => partition(synthetic, { ...options, sharePercentStep: 10 }),
  'default, step 20': () => partition(synthetic, { ...options, sharePercentStep: 20 }),
  'exhaustive, step 25': () => exhaustive(synthetic, { ...options, sharePercentStep: 25 }),
  'lowest feasible cap': () => lowestFeasibleCap(synthetic, { models: 'middle' }),
  'default, step 5, predictor that costs nothing': () => partition(free, options),
}

const bench = new Bench({ time: 500, warmupTime: 100 })
for (const [name, task] of Object.entries(tasks)) bench.add(name, task)
await bench.run()

console.table(
  bench.tasks.map(({ name, result }) => {
    if (result.state !== 'completed') throw new Error(`${name}: ${result.state}`)
    const before = synthetic.calls
    tasks[name]!()
    return {
      search: name,
      'median ms': result.latency.p50.toFixed(2),
      'p99 ms': result.latency.p99.toFixed(2),
      predictions: synthetic.calls - before,
    }
  }),
)

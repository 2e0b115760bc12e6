import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import { goldenJson, referenceFolder } from '@pctodl/reference-data'
import { Bench } from 'tinybench'
import {
  comparedPlans,
  findPlan,
  type GpuProfile,
  paretoFront,
  publishedAllocation,
  publishedMethods,
  readProfile,
  type TrainingJob,
} from '../src/index.js'

// Times of the searches, and what our plans take beside the others under the synchronous model.

/** Eight different GPUs with 16 limits and 3 % noise; shares up to 2048 were profiled. */
function eightGpus(): TrainingJob {
  const random = new SeededRandom(3)
  const noise = () => 1 + 0.03 * (random.uniform() - 0.5)
  const gpus = Array.from({ length: 8 }, (_, i) => {
    const rows = Array.from({ length: 16 }, (_, l) => 100 + 5 * i + 12 * l).flatMap((powerLimitW, l) =>
      [64, 128, 256, 512, 1024, 2048].map((batchSize) => {
        const timeS = (0.02 + (batchSize * (5 + 2 * i)) / 5000 / (1 + Math.sqrt(l / 15))) * noise()
        const powerW = Math.min(powerLimitW, 60 + (0.9 * powerLimitW * batchSize) / (batchSize + 200))
        return { batchSize, powerLimitW, timeS, energyJ: powerW * timeS * noise() }
      }),
    )
    return { profile: { name: `gpu${i}`, unit: 'step', idlePowerW: 20 + 5 * i, rows } satisfies GpuProfile }
  })
  return { gpus, globalBatch: 8192 }
}

const eight = eightGpus()
for (const powerW of [1500, 900]) {
  const startMs = performance.now()
  const { cost, lowerBound, powerLimitW } = findPlan(eight, { powerW })
  console.log(
    `8 GPUs within ${powerW} W: ${((performance.now() - startMs) / 1000).toFixed(1)} s, ${powerLimitW} W, ` +
      `at most ${(100 * (1 - lowerBound / cost)).toFixed(1)} % above the optimum`,
  )
}

const bench = new Bench({ time: 1000, warmupTime: 200 })
for (const eta of [0, 0.5, 1]) {
  bench.add(`8 GPUs, 16 limits, batch 8192, eta ${eta}`, () => findPlan({ ...eight, eta }))
}

const folder = referenceFolder('zeus2')
const profile = (name: string) => readProfile(path.join(folder, `${name}.json`), { name })
const pair = [profile('cifar_a10'), profile('cifar_t4')]
const gpus = pair.map((one) => ({ profile: { ...one, idlePowerW: 20 } }))
for (const method of publishedMethods) bench.add(`published ${method}`, () => publishedAllocation(pair, method))
bench.add('2 GPUs, 5 and 3 limits, batch 4096', () => findPlan({ gpus, globalBatch: 4096 }))
bench.add('the same, its front of 60 deadlines', () => paretoFront({ gpus, globalBatch: 4096 }))
await bench.run()
console.table(
  bench.tasks.map(({ name, result }) => {
    if (result.state !== 'completed') throw new Error(`${name}: ${result.state}`)
    const { min, p50, max } = result.latency
    return { search: name, 'least ms': min.toFixed(1), 'median ms': p50.toFixed(1), 'most ms': max.toFixed(1) }
  }),
)

compareCases()

/** Every recorded case, by the curves of its definition and by ours. */
function compareCases(): void {
  const { corrected } = goldenJson('zeus2/golden.json')
  for (const curves of ['measured', 'physical'] as const) {
    console.log(`\ncost per window, W s, of the recorded cases, curves '${curves}'`)
    const rows: Record<string, string | number>[] = []
    for (const dataset of ['cifar', 'imagenet']) {
      for (const { globalBatch, eta, idlePowerW, profiledRangeOnly } of corrected.cases) {
        const gpus = ['a10', 't4'].map((gpu) => ({ profile: { ...profile(`${dataset}_${gpu}`), idlePowerW } }))
        const job: TrainingJob = { gpus, globalBatch, eta, curves, mayLeaveOut: false }
        // Not every split of a batch lies within every trace.
        const within = profiledRangeOnly ? globalBatch <= (dataset === 'cifar' ? 2048 : 1024) : false
        const plan = findPlan({ ...job, profiledRangeOnly: within })
        const others = comparedPlans({ ...job, profiledRangeOnly: within })
        const least = Math.min(...[...others.values()].map(({ cost }) => cost))
        rows.push({
          case: `${dataset} B=${globalBatch} eta=${eta} idle=${idlePowerW}${within ? ' within' : ''}`,
          plan: plan.cost.toFixed(1),
          ...Object.fromEntries([...others].map(([name, { cost }]) => [name, cost.toFixed(1)])),
          'best other / plan': (least / plan.cost).toFixed(4),
        })
      }
    }
    console.table(rows)
  }
}

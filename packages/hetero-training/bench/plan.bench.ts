import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import { publishedAllocation, publishedMethods } from '@pctodl/published/training'
import { goldenJson, referenceFolder } from '@pctodl/reference-data'
import { Bench } from 'tinybench'
import { findPlan, type GpuProfile, paretoFront, readProfile, simplePlans, type TrainingJob } from '../src/index.js'
import { publishedOptimum } from '../test/published-optimum.js'

// Times of the searches, and what our plans take beside the others under the synchronous model.

/** Different GPUs, each with 3 % noise; shares up to 2048 were profiled. */
function unequalGpus(count: number, limits: number, seed: number): TrainingJob {
  const random = new SeededRandom(seed)
  const noise = () => 1 + 0.03 * (random.uniform() - 0.5)
  const gpus = Array.from({ length: count }, (_, i) => {
    const lowestW = Math.round(80 + 120 * random.uniform())
    const stepW = 5 + Math.round(8 * random.uniform())
    const samplesPerS = 2000 * (0.3 + random.uniform())
    const fixedS = 0.005 + 0.03 * random.uniform()
    const gain = 0.3 + 0.4 * random.uniform()
    const largestW = lowestW + stepW * (limits - 1)
    const rows = Array.from({ length: limits }, (_, l) => lowestW + stepW * l).flatMap((powerLimitW) =>
      [64, 128, 256, 512, 1024, 2048].map((batchSize) => {
        const timeS = (fixedS + (batchSize / samplesPerS) * (largestW / powerLimitW) ** gain) * noise()
        const powerW = Math.min(powerLimitW, 0.3 * lowestW + (0.9 * powerLimitW * batchSize) / (batchSize + 150))
        return { batchSize, powerLimitW, timeS, energyJ: powerW * timeS * noise() }
      }),
    )
    const idlePowerW = 15 + 20 * random.uniform()
    return { profile: { name: `gpu${i}`, unit: 'step', idlePowerW, rows } satisfies GpuProfile }
  })
  return { gpus, globalBatch: 8192 }
}

/** The goals of a binding budget on watts: seconds of processor time, and how far above the optimum a plan can be. */
function withinWatts(): void {
  const rows: Record<string, string | number>[] = []
  for (const [count, limits, goalS, goal, maxMicroBatch] of [
    [2, 25, 1, 0, null],
    [3, 25, 1, 0, null],
    [4, 25, 1, 0, null],
    [8, 16, 2, 0.005, null],
    [8, 25, 2, 0.005, null],
    [64, 16, 10, 0.01, null],
    [8, 25, 2, 0.005, 32],
    [8, 25, 2, 0.005, 8],
    [8, 25, 2, 0.005, 4],
  ] as const) {
    const cases = [0, 0.5, 1].flatMap((eta) =>
      [0.1, 0.4].flatMap((part) => [1, 2].map((seed) => ({ eta, part, seed }))),
    )
    const found = cases.map(({ eta, part, seed }) => {
      const whole = unequalGpus(count, limits, 100 * count + seed)
      const gpus = whole.gpus.map((gpu) => (maxMicroBatch === null ? gpu : { ...gpu, maxMicroBatch }))
      const job = { ...whole, gpus }
      const bounds = job.gpus.map(({ profile }) => profile.rows.map(({ powerLimitW }) => powerLimitW))
      const total = (of: (...watts: number[]) => number) => bounds.reduce((sum, own) => sum + of(...own), 0)
      const powerW = total(Math.min) + part * (total(Math.max) - total(Math.min))
      const start = process.cpuUsage().user
      const { cost, lowerBound } = findPlan({ ...job, eta }, { powerW })
      return { seconds: (process.cpuUsage().user - start) / 1e6, gap: 1 - lowerBound / cost }
    })
    const most = (of: (one: (typeof found)[number]) => number) => Math.max(...found.map(of))
    rows.push({
      search: `${count} GPUs of ${limits} limits${maxMicroBatch === null ? '' : `, micro-batches of ${maxMicroBatch}`}, within watts`,
      cases: found.length,
      'most s': most(({ seconds }) => seconds).toFixed(2),
      'goal s': goalS,
      'most above the optimum, %': (100 * most(({ gap }) => gap)).toFixed(3),
      'goal %': 100 * goal,
    })
  }
  console.table(rows)
}

/** Plans that need none of our search. */
function comparedPlans(job: TrainingJob) {
  const published = publishedOptimum(job)
  return new Map<string, { readonly cost: number }>([
    ...simplePlans(job),
    ...(published ? [['published optimum', published] as const] : []),
  ])
}

/** Clusters of 1 to 8 unequal GPUs, a tenth of which are twenty times slower: our plan beside those that need none of our search. */
function randomClusters(): void {
  let dearer = 0
  const least: number[] = []
  for (let seed = 1; seed <= 100; seed++) {
    const random = new SeededRandom(seed)
    const draw = (from: number, to: number) => from + Math.floor((to - from + 1) * random.uniform())
    const { gpus } = unequalGpus(draw(1, 8), draw(1, 16), 1000 + seed)
    const slowed = gpus.map((gpu) => {
      const slower = random.uniform() < 0.1 ? 20 : 1
      const rows = gpu.profile.rows.map((row) => ({ ...row, timeS: slower * row.timeS, energyJ: slower * row.energyJ }))
      return { profile: { ...gpu.profile, rows } }
    })
    const job = { gpus: slowed, globalBatch: draw(64, 4096), eta: [0, 0.5, 1][seed % 3]! }
    const { cost } = findPlan(job)
    const others = [...comparedPlans(job).values()].map((other) => other.cost)
    least.push(Math.min(...others) / cost)
    if (least.at(-1)! < 1 - 1e-9) dearer++
  }
  least.sort((a, b) => a - b)
  const percent = (ratio: number) => (100 * (ratio - 1)).toFixed(1)
  console.log(
    `100 random clusters: ${dearer} with a plan dearer than an even, proportional or published one; the cheapest of those is ` +
      `${percent(least[0]!)} to ${percent(least.at(-1)!)} % above, median ${percent(least[50]!)} %`,
  )
}

randomClusters()
withinWatts()
const eight = unequalGpus(8, 16, 3)

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

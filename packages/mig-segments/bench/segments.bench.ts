import { planAsPublished } from '@pctodl/published/segments'
import { Bench } from 'tinybench'
import { fleetOf, type PlannedGpu, planSegments, replanFleet, type ServiceObjective } from '../src/index.js'
import { boardsOf } from '../src/map/deployment-map.js'
import { type DataSet, dataSets, publishedData, randomScenarios } from '../test/published-data.js'

// Prints GPUs and times against the bound and the published algorithm.
const scaled = (objectives: readonly ServiceObjective[], factor: number) =>
  objectives.map((objective) => ({ ...objective, ratePerS: factor * objective.ratePerS }))

async function medianMs(run: () => unknown): Promise<number> {
  const bench = new Bench({ time: 300, warmupTime: 50, iterations: 5, warmupIterations: 1 })
  bench.add('run', async () => {
    await run()
  })
  await bench.run()
  const { result } = bench.tasks[0]!
  if (result.state !== 'completed') throw new Error(result.state)
  return result.latency.p50
}

async function compare(set: DataSet, name: string, objectives: readonly ServiceObjective[]) {
  const { profiles } = publishedData(set)
  const published = planAsPublished(profiles, objectives)
  const startMs = performance.now()
  const exact = await planSegments(profiles, objectives)
  const exactMs = performance.now() - startMs
  return {
    row: `${set} ${name}`,
    'bound GPUs': exact.lowerBoundGpus,
    'exact GPUs': exact.gpuCount,
    'published GPUs': published.gpuCount,
    'bound GPCs': exact.lowerBoundGpcs,
    'exact GPCs': exact.gpcCount,
    'published GPCs': published.gpcCount,
    'overlapping GPUs (published)': published.illegalGpus,
    'published ms': (await medianMs(() => planAsPublished(profiles, objectives))).toFixed(1),
    'exact ms': exactMs.toFixed(0),
  }
}

const table = []
for (const set of dataSets) {
  for (const [k, objectives] of publishedData(set).scenarios.entries()) {
    table.push(await compare(set, `row ${k + 1}`, objectives))
  }
}
for (const factor of [10, 100, 1000, 5000]) {
  table.push(await compare('head', `row 3 x ${factor}`, scaled(publishedData('head').scenarios[2]!, factor)))
  table.push(await compare('sc24', `row 6 x ${factor}`, scaled(publishedData('sc24').scenarios[5]!, factor)))
}
console.table(table)

const random = []
for (const set of dataSets) {
  const data = publishedData(set)
  const gaps = []
  const publishedGaps = []
  const timesMs = []
  const gpus = []
  let lost = 0
  let overlapping = 0
  for (const objectives of randomScenarios(data, 100, 7)) {
    const startMs = performance.now()
    const plan = await planSegments(data.profiles, objectives)
    timesMs.push(performance.now() - startMs)
    const published = planAsPublished(data.profiles, objectives)
    const bound = Math.max(1, plan.lowerBoundGpus)
    gaps.push(plan.gpuCount / bound - 1)
    gpus.push(plan.gpuCount)
    if (published.illegalGpus > 0) overlapping++
    if (published.underServed.length > 0) lost++
    else publishedGaps.push(published.gpuCount / bound - 1)
  }
  const percent = (values: readonly number[]) =>
    `${((100 * values.reduce((sum, value) => sum + value, 0)) / values.length).toFixed(2)} %, ` +
    `${(100 * Math.max(...values)).toFixed(1)} %`
  timesMs.sort((a, b) => a - b)
  random.push({
    set,
    GPUs: `${Math.min(...gpus)} to ${Math.max(...gpus)}`,
    'gap (mean, worst)': percent(gaps),
    'published, where it loses nothing': percent(publishedGaps),
    'published loses services in': lost,
    'published overlaps in': overlapping,
    'ms (median, 95 %, worst)': `${timesMs[50]!.toFixed(1)}, ${timesMs[95]!.toFixed(1)}, ${timesMs[99]!.toFixed(1)}`,
  })
}
console.table(random)

const moves = []
for (const set of dataSets) {
  const { profiles, scenarios } = publishedData(set)
  for (const factor of [1, 4]) {
    const before = scaled(scenarios.at(-1)!, factor)
    const current = (await planSegments(profiles, before)).gpus
    for (const [change, objectives] of [
      ['one rate + 20 %', before.map((o, i) => (i === 3 ? { ...o, ratePerS: 1.2 * o.ratePerS } : o))],
      ['all rates - 10 %', scaled(before, 0.9)],
      ['every third rate + 15 %', before.map((o, i) => (i % 3 === 0 ? { ...o, ratePerS: 1.15 * o.ratePerS } : o))],
    ] as const) {
      const fleet = fleetOf('A100-80GB', profiles)
      const running = boardsOf(current, 'A100-80GB')
      const startMs = performance.now()
      const next = await replanFleet(running, fleet, objectives)
      const ms = performance.now() - startMs
      const consolidated = await replanFleet(running, fleet, objectives, { consolidate: true })
      moves.push({
        change: `${set} x ${factor}: ${change}`,
        'GPUs before': current.length,
        GPUs: next.boards.length,
        segments: next.boards.reduce((sum, board) => sum + board.segments.length, 0),
        'created, restarted (at least)': `${next.created}, ${next.restarted} (${next.lowerBoundMoves})`,
        'consolidated: GPUs': consolidated.boards.length,
        'consolidated: created': consolidated.created,
        'fresh plan: created': freshMoves(current, (await planSegments(profiles, objectives)).gpus),
        ms: ms.toFixed(0),
      })
    }
  }
}
console.table(moves)

/** Segments that a plan from scratch would create, GPU by GPU as it numbers them. */
function freshMoves(before: readonly PlannedGpu[], after: typeof before): number {
  const key = (gpu: number, { model, sizeGpcs, start }: (typeof before)[number]['segments'][number]) =>
    `${gpu} ${model} ${sizeGpcs} ${start}`
  const present = new Set(before.flatMap(({ index, segments }) => segments.map((segment) => key(index, segment))))
  return after.flatMap(({ index, segments }) => segments.filter((segment) => !present.has(key(index, segment)))).length
}

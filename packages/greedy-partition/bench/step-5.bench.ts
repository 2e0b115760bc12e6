import { loadPerfModel } from '@pctodl/perf-model'
import { exhaustive, partition } from '../src/index.js'

// The gap at step 5, by enumeration of all 8.5 million compositions with the published batch sizes. Each case takes
// minutes.
const cases: readonly (readonly [board: string, models: string, powerCapW: number])[] = [
  ['A100', 'resnet50', 180],
  ['A100', 'mobilenet_v2', 130],
  ['3080Ti', 'resnet50', 200],
]

for (const [board, models, powerCapW] of cases) {
  const predictor = loadPerfModel(board)
  const options = { models, powerCapW, minBatchPerPercent: 0.8 }
  const startMs = performance.now()
  const best = exhaustive(predictor, options, { maxConfigurations: 1e8 })
  const seconds = (performance.now() - startMs) / 1000
  if (!best.feasible) throw new Error(best.message)
  for (const seed of [1, 2, 3]) {
    const ours = partition(predictor, { ...options, seed })
    if (!ours.feasible) throw new Error(ours.message)
    const gap = 100 * (1 - ours.weightedThroughput / best.weightedThroughput)
    console.log(
      `${models} on ${board}, ${powerCapW} W, seed ${seed}: ours ${ours.weightedThroughput.toFixed(2)}, ` +
        `best ${best.weightedThroughput.toFixed(2)} of ${best.evaluations} in ${seconds.toFixed(0)} s, gap ${gap.toFixed(4)} %`,
    )
  }
}

import { median } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { partition, throughputUpperBound } from '../src/index.js'

// How far the upper bound lies above the plan at a share step of 5 %, of our models of both boards: seven networks, six caps.

for (const board of ['A100', '3080Ti']) {
  const predictor = loadPerfModel(board)
  const gaps: { case: string; percent: number }[] = []
  for (const models of predictor.networks) {
    for (const powerCapW of [100, 130, 170, 200, 250, 320]) {
      const plan = partition(predictor, { models, powerCapW })
      const bound = throughputUpperBound(predictor, { models, powerCapW })
      if (!plan.feasible || bound === null) continue
      const percent = 100 * (bound.weightedThroughput / plan.weightedThroughput - 1)
      gaps.push({ case: `${models}, ${powerCapW} W`, percent })
    }
  }
  gaps.sort((a, b) => a.percent - b.percent)
  const { case: where, percent } = gaps.at(-1)!
  const middle = median(gaps.map((gap) => gap.percent))
  console.log(
    `${board}: ${gaps.length} plans; bound above plan: least ${gaps[0]!.percent.toFixed(0)} %, ` +
      `median ${middle.toFixed(0)} %, largest ${percent.toFixed(0)} % (${where})`,
  )
}

import { median, quantile } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { partition, throughputUpperBound } from '../src/index.js'

// How far the upper bound lies above the plan at share steps of 5 and 10 %, of our models of both boards: seven networks, six caps; by
// splitting boxes only, also where the space is small enough to look at all of it. Times are of the processor, so that other work counts less.

const budgets = [200, 600, 2000]

for (const board of ['A100', '3080Ti']) {
  const predictor = loadPerfModel(board)
  for (const sharePercentStep of [5, 10]) {
    const above = budgets.map(() => [] as number[])
    const ms = budgets.map(() => [] as number[])
    const searchMs: number[] = []
    const worst: { case: string; percent: number }[] = []
    for (const models of predictor.networks) {
      for (const powerCapW of [100, 130, 170, 200, 250, 320]) {
        const options = { models, powerCapW, sharePercentStep }
        const start = cpuMs()
        const plan = partition(predictor, options)
        searchMs.push(cpuMs() - start)
        if (!plan.feasible) continue
        budgets.forEach((maxBoxes, i) => {
          const begun = cpuMs()
          const bound = throughputUpperBound(predictor, options, { maxBoxes, maxConfigurations: 0 })!
          ms[i]!.push(cpuMs() - begun)
          above[i]!.push(100 * (bound.weightedThroughput / plan.weightedThroughput - 1))
        })
        worst.push({ case: `${models}, ${powerCapW} W`, percent: above[1]!.at(-1)! })
      }
    }
    worst.sort((a, b) => b.percent - a.percent)
    console.log(
      `${board}, step ${sharePercentStep}: ${worst.length} plans, the search took ${median(searchMs).toFixed(0)} ms (median)`,
    )
    console.table(
      budgets.map((boxes, i) => ({
        boxes,
        'bound above plan, %: least': Math.min(...above[i]!).toFixed(2),
        median: median(above[i]!).toFixed(1),
        '90 %': quantile(above[i]!, 0.9).toFixed(1),
        largest: Math.max(...above[i]!).toFixed(1),
        'ms, median': median(ms[i]!).toFixed(0),
        'ms, largest': Math.max(...ms[i]!).toFixed(0),
      })),
    )
    console.log(
      `largest with 600 boxes: ${worst
        .slice(0, 3)
        .map((entry) => `${entry.case} ${entry.percent.toFixed(0)} %`)
        .join('; ')}`,
    )
  }
}

function cpuMs(): number {
  return process.cpuUsage().user / 1000
}

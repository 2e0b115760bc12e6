import { chartOrder } from '../chart/algorithm-colors.js'
import type { AlgorithmAggregate } from '../verdict/algorithm-aggregate.js'
import { figure, type ReportTable } from './report-table.js'

/** Table of a board's algorithms, in the order of the board's chart. */
export function algorithmTable(algorithms: readonly AlgorithmAggregate[], baseline: string): ReportTable {
  const order = chartOrder(algorithms.map(({ algorithm }) => algorithm))
  return {
    head: ['algorithm', 'tasks', 'violating', 'compared', `throughput vs ${baseline}`, `J each vs ${baseline}`],
    rows: [...algorithms]
      .sort((a, b) => order.indexOf(a.algorithm) - order.indexOf(b.algorithm))
      .map((row) => [
        row.algorithm,
        String(row.tasksRun),
        row.unknownTasks > 0 ? `${row.violatingTasks} (+ ${row.unknownTasks} unknown)` : String(row.violatingTasks),
        String(row.comparedTasks),
        figure(row.throughputRatio, 3),
        figure(row.energyPerSampleRatio, 3),
      ]),
  }
}

export function algorithmCaption(baseline: string): string {
  return `Ratios: geometric means over the "compared" tasks, on which both the algorithm and ${baseline} hold the cap.`
}

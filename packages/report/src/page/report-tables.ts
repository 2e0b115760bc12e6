import { chartOrder } from '../chart/algorithm-colors.js'
import { latencyText } from '../table/latency-text.js'
import { figure, type ReportTable } from '../table/report-table.js'
import { spreadText } from '../verdict/spread.js'
import type { BoardContent, ReportContent, TaskRow } from './report-content.js'

/** Table of a board's algorithms, in the order of the board's chart. */
export function algorithmTable({ algorithms, baseline }: Pick<BoardContent, 'algorithms' | 'baseline'>): ReportTable {
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

export function taskTable(rows: readonly TaskRow[]): ReportTable {
  return {
    head: [
      'algorithm',
      'images or requests/s',
      'p99 latency, ms',
      'interval or range',
      'of oracle, %',
      'mean W',
      'peak W (1 s)',
      'above cap, % of steady time',
      'excess energy, J',
      'J each',
      'USD / million',
      'kg CO2 / million',
      'start-up',
      'power cap',
    ],
    rows: rows.map(({ summary, shareOfOracle, millionImages }) => [
      summary.algorithm,
      figure(summary.throughput, 1),
      latencyText(summary.latency),
      spreadText(summary.throughputSpread, 1),
      figure(shareOfOracle === null ? null : 100 * shareOfOracle, 1),
      figure(summary.meanPowerW, 1),
      figure(summary.peakPowerW, 1),
      figure(summary.timeAboveCapPercent, 2),
      figure(summary.power.excessEnergyJ, 1),
      figure(summary.energyPerSampleJ, 4),
      figure(millionImages?.priceUsd, 3),
      figure(millionImages?.carbonKg, 3),
      summary.startUp?.status ?? '-',
      summary.verdict.breaks === 'latency' ? 'misses latency' : summary.verdict.status,
    ]),
  }
}

/** One table of all tasks of all boards, for the CSV file. */
export function everyTaskTable(content: ReportContent): ReportTable {
  const prefix = ['board', 'task', 'model', 'dataset', 'cap_w', 'oracle_images_per_s']
  const parts = content.boards.flatMap(({ tasks }) =>
    tasks.map(({ task, oracle, rows }) => {
      const caps = task.capsW.join(' ')
      const table = taskTable(rows)
      return {
        head: [...prefix, ...table.head],
        rows: table.rows.map((row) => [
          task.board,
          String(task.id),
          task.model,
          task.dataset,
          caps,
          figure(oracle, 1),
          ...row,
        ]),
      }
    }),
  )
  return { head: parts[0]?.head ?? prefix, rows: parts.flatMap(({ rows }) => rows) }
}

import path from 'node:path'
import { writeChart } from '@pctodl/report'
import { serverChart } from './server-chart.js'
import type { FinishedServerCell } from './server-table.js'
import { serverTasksOf } from './server-tasks.js'

/** Draw each task's runs (of the first seed and board) over time, as SVG and PNG in `<GPU>_comparison/`. @returns the files */
export async function drawServerCharts(finished: readonly FinishedServerCell[], resultDir: string): Promise<string[]> {
  const files: string[] = []
  const first = finished[0]?.cell
  const runs = finished.flatMap(({ cell, result: { run } }) =>
    run && cell.seed === first!.seed && cell.variant === first!.variant ? [{ cell, run }] : [],
  )
  const tasks = new Map(runs.map(({ cell }) => [`${cell.board} ${cell.taskId}`, cell]))
  for (const { board, taskId, taskName } of tasks.values()) {
    const ofTask = runs.filter(({ cell }) => cell.board === board && cell.taskId === taskId)
    const chart = serverChart(
      serverTasksOf(board, [taskId])[0]!,
      ofTask.map(({ cell: { policy }, run }) => ({ policy, run })),
    )
    const stem = path.join(resultDir, `${board}_comparison`, `server_${taskId}_${taskName}`)
    files.push(...(await writeChart(stem, chart)))
  }
  return files
}

import path from 'node:path'
import { combineRepeatedRuns, comparisonChart, matrixChart, writeChart } from '@pctodl/report'
import type { Cell } from './cell.js'
import { ResultStore } from './result-store.js'
import type { MatrixOutcome } from './run-matrix.js'
import { taskFileStem } from './tasks.js'

/**
 * Draw each task's runs (of the first seed) over time, and per board the whole matrix where there are several tasks, as SVG
 * and PNG in `<GPU>_comparison/`.
 *
 * @returns the files
 */
export async function drawRunCharts(
  { finished }: Pick<MatrixOutcome, 'finished'>,
  resultDir: string,
): Promise<string[]> {
  const store = new ResultStore(resultDir)
  const files: string[] = []
  const draw = async (board: string, name: string, chart: Parameters<typeof writeChart>[1]) => {
    files.push(...(await writeChart(path.join(resultDir, `${board}_comparison`, name), chart)))
  }
  const firstRuns = finished.filter(({ cell }) => cell.seed === finished[0]!.cell.seed)
  for (const cells of groupByTask(firstRuns.map(({ cell }) => cell))) {
    const { task } = cells[0]!
    const records = cells.map((cell) => store.readRecord(cell))
    await draw(task.board, taskFileStem(task), comparisonChart(records))
  }
  for (const board of new Set(finished.map(({ cell }) => cell.task.board))) {
    const ofBoard = combineRepeatedRuns(finished.map(({ summary }) => summary).filter((run) => run.board === board))
    if (new Set(ofBoard.map(({ taskId }) => taskId)).size > 1) await draw(board, 'matrix', matrixChart(ofBoard))
  }
  return files
}

function groupByTask(cells: readonly Cell[]): Cell[][] {
  const groups = new Map<string, Cell[]>()
  for (const cell of cells) {
    const key = `${cell.task.board}/${taskFileStem(cell.task)}`
    groups.set(key, [...(groups.get(key) ?? []), cell])
  }
  return [...groups.values()]
}

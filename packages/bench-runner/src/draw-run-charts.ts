import path from 'node:path'
import { chartOf, combineRepeatedRuns, matrixChart, writeChart } from '@pctodl/report'
import { type Cell, loadStem } from './cell.js'
import { ResultStore } from './result-store.js'
import type { MatrixOutcome } from './run-matrix.js'
import { isServed } from './tasks.js'

/**
 * Draw each task's runs (of the first seed) over time and, where a board has several tasks, its whole matrix, as SVG
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
  const { seed, variant } = finished[0]?.cell ?? {}
  const firstRuns = finished.filter(({ cell }) => cell.seed === seed && cell.variant === variant)
  for (const cells of groupByTask(firstRuns.map(({ cell }) => cell))) {
    const { task } = cells[0]!
    const records = cells.map((cell) => store.readRecord(cell))
    await draw(task.board, loadStem(cells[0]!), chartOf(records))
  }
  for (const board of new Set(finished.map(({ cell }) => cell.task.board))) {
    for (const served of [false, true]) {
      const runs = finished.filter(({ cell }) => cell.task.board === board && isServed(cell.task) === served)
      const ofBoard = combineRepeatedRuns(runs.map(({ summary }) => summary))
      const several = new Set(ofBoard.map(({ taskId }) => taskId)).size > 1
      if (several) await draw(board, served ? 'services' : 'matrix', matrixChart(ofBoard))
    }
  }
  return files
}

function groupByTask(cells: readonly Cell[]): Cell[][] {
  const groups = new Map<string, Cell[]>()
  for (const cell of cells) {
    const key = `${cell.task.board}/${loadStem(cell)}`
    groups.set(key, [...(groups.get(key) ?? []), cell])
  }
  return [...groups.values()]
}

import { InvalidInputError } from '@pctodl/platform'
import type { TopLevelSpec } from '../charts.js'
import { ALARM_COLOR, chartConfig, INK } from '../charts.js'
import { FAINT_INK } from '../draw/chart-style.js'
import { assertOneTask, holds, rankRuns } from '../verdict/ranking.js'
import { merit, type RunSummary, taskKey } from '../verdict/run-summary.js'
import { chartColors, chartOrder } from './algorithm-colors.js'
import { chartTitle, nominal, quantity, textMark } from './chart-parts.js'

const PLOT_WIDTH = 760
const ROW_LABEL_WIDTH = 150
const BAR_HEIGHT = 11
const GAP_BETWEEN_TASKS = 12
/** Maximum number of names in a row of the legend, so that the legend is not wider than the plot. */
const MAX_IN_A_ROW = 6

/**
 * Draws all tasks of one board: for each task, the throughput of every algorithm relative to the best run that holds
 * the cap. For a run that breaks the cap, the bar is hollow, and its time above the cap (%) stands beside it. If no run holds
 * the cap, the fastest run is the reference, and the row says so.
 *
 * @throws InvalidInputError if there is no run, if runs are of several boards, or for two runs of one algorithm on one
 *   task
 */
export function matrixChart(summaries: readonly RunSummary[]): TopLevelSpec {
  const board = summaries[0]?.board
  if (board === undefined) throw new InvalidInputError('summaries', [], 'at least one run')
  const other = summaries.find((summary) => summary.board !== board)
  if (other !== undefined)
    throw new InvalidInputError('summaries[].board', other.board, `${board} only; one chart per board`)

  const served = summaries.some(({ requests }) => requests)
  const algorithms = chartOrder(summaries.map((summary) => summary.algorithm))
  const keys = [...new Set([...summaries].sort((a, b) => a.taskId - b.taskId).map(taskKey))]
  const rows = keys.map((key) => taskRow(summaries.filter((summary) => taskKey(summary) === key)))
  const bars = rows.flatMap((row) => row.bars)
  const longest = Math.max(100, ...bars.map((bar) => bar.percent))

  const y = nominal('task', {
    sort: rows.map((row) => row.task),
    scale: {
      paddingInner: GAP_BETWEEN_TASKS / (algorithms.length * BAR_HEIGHT + GAP_BETWEEN_TASKS),
      paddingOuter: 0.1,
    },
    axis: {
      title: null,
      labelExpr: "split(datum.value, '\\n')",
      labelFontSize: 12,
      labelLineHeight: 15,
      // Vega cannot measure this font and would reserve too much space for labels, so labels are placed by their
      // measured widths.
      labelLimit: 0,
      minExtent: ROW_LABEL_WIDTH,
      maxExtent: ROW_LABEL_WIDTH,
      ticks: false,
      domain: false,
      labelPadding: 10,
    },
  })
  const yOffset = nominal('algorithm', { sort: algorithms, scale: { domain: algorithms, paddingInner: 0.14 } })
  const x = quantity('percent', {
    scale: { domain: [0, Math.ceil((longest + 4) / 10) * 10], nice: false },
    axis: {
      title: `${served ? 'requests/J' : 'throughput'}, % of the best run that holds the cap`,
      tickCount: 12,
      orient: 'bottom' as const,
    },
  })
  const color = nominal('algorithm', {
    scale: { domain: algorithms, range: chartColors(algorithms) },
    legend: {
      orient: 'top' as const,
      title: null,
      symbolType: 'square',
      symbolSize: 200,
      columnPadding: 18,
      columns: MAX_IN_A_ROW,
      offset: 24,
    },
  })
  const besidePlot = { value: PLOT_WIDTH + 14 }
  return {
    config: chartConfig,
    title: chartTitle(
      `${served ? 'Requests per joule' : 'Throughput'} under the power cap, ${board}`,
      'Hollow bars: the run broke its cap (beside it: percentage of time above the cap) or missed its latency objective.',
      10,
    ),
    width: PLOT_WIDTH,
    height: { step: algorithms.length * BAR_HEIGHT + GAP_BETWEEN_TASKS, for: 'position' },
    layer: [
      {
        data: { values: bars.filter((bar) => bar.holds) },
        mark: { type: 'bar', strokeWidth: 1.6 },
        encoding: { y, yOffset, x, color },
      },
      {
        data: { values: bars.filter((bar) => !bar.holds) },
        mark: { type: 'bar', filled: false, strokeWidth: 1.6 },
        encoding: { y, yOffset, x, color },
      },
      {
        data: { values: [{}] },
        mark: { type: 'rule', color: '#000000', strokeDash: [5, 4], strokeWidth: 1 },
        encoding: { x: { datum: 100, type: 'quantitative' } },
      },
      {
        data: { values: bars.filter((bar) => !bar.holds) },
        mark: textMark({ dx: 5, fontSize: 10.5, color: ALARM_COLOR }),
        encoding: { y, yOffset, x, text: nominal('remark', {}) },
      },
      {
        data: { values: rows.map(({ task, best, noneHolds }) => ({ task, best, ink: noneHolds ? ALARM_COLOR : INK })) },
        mark: textMark({ fontSize: 12 }),
        encoding: { y, x: besidePlot, text: nominal('best', {}), color: nominal('ink', { scale: null }) },
      },
      {
        data: { values: [{}] },
        mark: textMark({ fontSize: 12, color: FAINT_INK, text: '100 % is' }),
        encoding: { x: besidePlot, y: { value: -14 } },
      },
    ],
  }
}

interface Bar {
  readonly task: string
  readonly algorithm: string
  readonly percent: number
  readonly holds: boolean
  readonly remark: string
}

interface TaskRow {
  readonly task: string
  readonly best: string
  readonly noneHolds: boolean
  readonly bars: readonly Bar[]
}

function taskRow(runs: readonly RunSummary[]): TaskRow {
  assertOneTask('summaries', runs)
  const { taskId, model, dataset, capW } = runs[0]!
  const objectiveMs = runs[0]!.latency?.[0]?.objectiveMs
  const promised = objectiveMs === undefined ? '' : `, ${objectiveMs} ms`
  const task = `${taskId}: ${model}\n${dataset}, ${capW === 'dynamic' ? 'changing cap' : `${capW} W`}${promised}`
  const ranked = rankRuns(runs)
  const anyHolds = holds(ranked[0])
  const standard = anyHolds ? ranked[0]! : [...runs].sort((a, b) => merit(b) - merit(a))[0]!
  const name = `${standard.algorithm} ${standard.throughput.toPrecision(4)}/s`
  return {
    task,
    best: anyHolds ? name : `none holds; ${name}`,
    noneHolds: !anyHolds,
    bars: ranked.map((run) => ({
      task,
      algorithm: run.algorithm,
      percent: merit(standard) > 0 ? (100 * merit(run)) / merit(standard) : 0,
      holds: holds(run),
      remark: remark(run),
    })),
  }
}

function remark(run: RunSummary): string {
  if (run.verdict.status === 'unknown') return 'power not known'
  if (run.verdict.status !== 'violates') return ''
  const late = run.verdict.breaks === 'cap' || run.verdict.breaks === undefined ? '' : 'late'
  const above = run.verdict.breaks === 'latency' ? '' : `${run.timeAboveCapPercent!.toFixed(0)} %`
  return [above, late].filter((word) => word !== '').join(', ')
}

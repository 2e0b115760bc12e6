import { groupBy } from '@pctodl/platform'
import type { TopLevelSpec } from '../charts.js'
import { ALARM_COLOR, chartConfig, INK } from '../charts.js'
import { FAINT_INK } from '../draw/chart-style.js'
import { holds, rankRuns } from '../verdict/ranking.js'
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
 * the cap, the fastest run is the reference, and the row says so. A task has at most one run of each algorithm.
 */
export function matrixChart(summaries: readonly RunSummary[]): TopLevelSpec {
  const served = summaries.some(({ requests }) => requests)
  const algorithms = chartOrder(summaries.map((summary) => summary.algorithm))
  const rows = [
    ...groupBy(
      [...summaries].sort((a, b) => a.taskId - b.taskId),
      taskKey,
    ).values(),
  ].map(taskRow)
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
      `${served ? 'Requests per joule' : 'Throughput'} under the power cap, ${summaries[0]!.board}`,
      'Hollow bars: the run broke its cap (beside it: percentage of time above the cap) or missed its latency objective.',
      10,
    ),
    width: PLOT_WIDTH,
    height: { step: algorithms.length * BAR_HEIGHT + GAP_BETWEEN_TASKS, for: 'position' },
    layer: [
      ...[true, false].map((filled) => ({
        data: { values: bars.filter((bar) => bar.holds === filled) },
        mark: { type: 'bar' as const, filled, strokeWidth: 1.6 },
        encoding: { y, yOffset, x, color },
      })),
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

function taskRow(runs: readonly RunSummary[]) {
  const { taskId, model, dataset, capW, latency } = runs[0]!
  const objectiveMs = latency?.[0]?.objectiveMs
  const promised = objectiveMs === undefined ? '' : `, ${objectiveMs} ms`
  const task = `${taskId}: ${model}\n${dataset}, ${capW === 'dynamic' ? 'changing cap' : `${capW} W`}${promised}`
  const ranked = rankRuns(runs)
  const noneHolds = !holds(ranked[0])
  const standard = noneHolds ? runs.reduce((a, b) => (merit(b) > merit(a) ? b : a)) : ranked[0]!
  const name = `${standard.algorithm} ${standard.throughput.toPrecision(4)}/s`
  return {
    task,
    best: noneHolds ? `none holds; ${name}` : name,
    noneHolds,
    bars: ranked.map((run) => ({
      task,
      algorithm: run.algorithm,
      percent: merit(standard) > 0 ? (100 * merit(run)) / merit(standard) : 0,
      holds: holds(run),
      remark: remark(run),
    })),
  }
}

function remark({ verdict: { status, breaks = 'cap' }, timeAboveCapPercent }: RunSummary): string {
  if (status === 'unknown') return 'power not known'
  if (status === 'holds') return ''
  const above = `${timeAboveCapPercent?.toFixed(0)} %`
  return { cap: above, latency: 'late', 'cap and latency': `${above}, late` }[breaks]
}

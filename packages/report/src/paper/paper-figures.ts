import { chartColors, chartOrder } from '../chart/algorithm-colors.js'
import { nominal, quantity, textMark } from '../chart/chart-parts.js'
import { ALARM_COLOR, INK, palette, type TopLevelSpec } from '../charts.js'
import { CHART_FONT } from '../draw/chart-style.js'
import type { AlgorithmAggregate } from '../verdict/algorithm-aggregate.js'
import type { Standings } from '../verdict/standings.js'

/** Widths of one column and of both columns of a two-column paper, cm. */
export const paperWidthsCm = [8.5, 17.5] as const

/** Figures are laid out in points of the printed page, so that text is 7 points high in every figure. */
const POINTS_PER_CM = 72 / 2.54
const FONT_POINTS = 7

const config = {
  font: CHART_FONT,
  background: '#ffffff',
  padding: 2,
  view: { stroke: '#999999', strokeWidth: 0.5 },
  axis: {
    labelFontSize: FONT_POINTS,
    titleFontSize: FONT_POINTS,
    titleFontWeight: 'normal' as const,
    gridColor: '#e8e8e8',
    gridWidth: 0.5,
    domainWidth: 0.5,
    tickWidth: 0.5,
    tickSize: 3,
    labelLimit: 0,
  },
  legend: { labelFontSize: FONT_POINTS, titleFontSize: FONT_POINTS, symbolSize: 30, labelLimit: 0 },
}

const outcomeColors = { win: palette[2], tie: palette[6], loss: palette[4], 'no-feedback': palette[7 % palette.length] }

/** Height of a row, points. */
const ROW = 9.5

/** Names a mix by its first network and the number of others; the tables name all networks. */
function shortened(model: string): string {
  const [first, ...others] = model.split('+')
  return others.length === 0 ? model : `${first} and ${others.length} more`
}

/**
 * Draws one algorithm compared with the best other algorithm of each task. Above 1, the algorithm is better. Lines are
 * 95 % intervals or, with fewer than 16 boards, ranges.
 */
export function standingsFigure({ tasks, subject }: Standings, widthCm: number): TopLevelSpec {
  const wide = widthCm > 12
  const values = tasks.flatMap(({ board, taskId, model, ratio, rival, outcome }) =>
    ratio === null
      ? []
      : [
          {
            task: wide ? `${board} ${taskId} ${shortened(model)}` : `${board} ${taskId}`,
            ratio: ratio.value,
            low: ratio.spread?.low ?? ratio.value,
            high: ratio.spread?.high ?? ratio.value,
            rival: rival?.algorithm ?? '',
            outcome,
          },
        ],
  )
  const least = Math.min(0.95, ...values.map(({ low }) => low))
  const most = Math.max(1.05, ...values.map(({ high }) => high))
  const y = nominal('task', {
    sort: values.map(({ task }) => task),
    axis: { title: null, ticks: false, labelPadding: 3, grid: false },
  })
  const scale = { domain: [least - 0.01, most + 0.02 * (most - least)], nice: false, zero: false }
  const x = quantity('ratio', {
    scale,
    axis: { title: `${subject} over the best other`, tickCount: wide ? 10 : 5 },
  })
  const color = nominal('outcome', {
    scale: { domain: Object.keys(outcomeColors), range: Object.values(outcomeColors) },
    legend: { orient: 'top' as const, title: null, offset: 2 },
  })
  return {
    config,
    autosize: { type: 'fit', contains: 'padding' },
    width: widthCm * POINTS_PER_CM,
    height: ROW * values.length + 42,
    layer: [
      {
        data: { values: [{}] },
        mark: { type: 'rule', color: '#000000', strokeWidth: 0.6 },
        encoding: { x: { datum: 1, type: 'quantitative', scale } },
      },
      {
        data: { values },
        mark: { type: 'rule', strokeWidth: 1 },
        encoding: { y, x: { ...x, field: 'low' }, x2: { field: 'high' }, color },
      },
      { data: { values }, mark: { type: 'point', filled: true, size: 16, opacity: 1 }, encoding: { y, x, color } },
      ...(wide
        ? [
            {
              data: { values },
              mark: textMark({ dx: 5, fontSize: FONT_POINTS - 1, color: '#555555' }),
              // Opponents' names are beside the plot. At the points, they would overlap the line at 1.
              encoding: { y, x: { value: 'width' as const }, text: nominal('rival', {}) },
            },
          ]
        : []),
    ],
  }
}

/**
 * Draws every algorithm of a board relative to the baseline, over the tasks on which both hold the cap. Also says on
 * how many tasks the algorithm breaks the cap.
 */
export function algorithmsFigure(
  algorithms: readonly AlgorithmAggregate[],
  baseline: string,
  widthCm: number,
): TopLevelSpec {
  const order = chartOrder(algorithms.map(({ algorithm }) => algorithm))
  const values = algorithms.flatMap(({ algorithm, throughputRatio, violatingTasks, tasksRun }) => [
    {
      algorithm,
      ratio: throughputRatio ?? 0,
      value: throughputRatio?.toFixed(2) ?? '-',
      remark: violatingTasks === 0 ? '' : `breaks ${violatingTasks} of ${tasksRun}`,
    },
  ])
  const y = nominal('algorithm', { sort: order, axis: { title: null, ticks: false, grid: false } })
  const most = Math.max(1, ...values.map(({ ratio }) => ratio))
  const scale = { domain: [0, most * (widthCm > 12 ? 1.3 : 1.8)], nice: false }
  const x = quantity('ratio', { scale, axis: { title: `throughput relative to ${baseline}`, tickCount: 6 } })
  return {
    config,
    autosize: { type: 'fit', contains: 'padding' },
    width: widthCm * POINTS_PER_CM,
    height: 14 * values.length + 34,
    data: { values },
    layer: [
      {
        mark: { type: 'bar', height: 8 },
        encoding: {
          y,
          x,
          color: nominal('algorithm', { scale: { domain: order, range: chartColors(order) }, legend: null }),
        },
      },
      {
        mark: textMark({ dx: 3, fontSize: FONT_POINTS, color: INK }),
        encoding: { y, x, text: nominal('value', {}) },
      },
      {
        mark: textMark({ dx: 22, fontSize: FONT_POINTS, color: ALARM_COLOR }),
        encoding: { y, x, text: nominal('remark', {}) },
      },
    ],
  }
}

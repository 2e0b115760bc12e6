import { InvalidInputError } from '@pctodl/platform'
import { chartConfig, type TopLevelSpec } from '../charts.js'
import type { RunRecord } from '../record/run-record.js'
import { rankRuns } from '../verdict/ranking.js'
import { summarizeRun } from '../verdict/run-summary.js'
import { chartColors, chartOrder } from './algorithm-colors.js'
import { type ChartedRun, chartTitle, timeAxis } from './chart-parts.js'
import { arrivalsPanel, missedPanel, throughputPanel } from './line-panels.js'
import { powerStrip } from './power-strip.js'

/** Width of the plots, px. With axis and labels, the picture is about 1200 px wide. */
const PLOT_WIDTH = 900

/**
 * The power axis starts at this fraction of the lowest cap, so that differences near the cap are visible, or at this
 * fraction of the lowest mean power if that is less.
 */
const POWER_AXIS_START = { ofCap: 0.6, ofMean: 0.7 }

const MAX_CAPS_NAMED = 6

/**
 * Draws runs of one task over a common time axis, at most one of each algorithm. Each algorithm has a strip with its
 * one-second average power (true power if known) and the cap; power above the cap is red. Below are the throughput or,
 * for services, the arrivals and the missed requests.
 *
 * @throws InvalidInputError if a run is of another task
 */
export function comparisonChart(runs: readonly RunRecord[]): TopLevelSpec {
  runs.forEach(({ board, taskId }, i) => {
    const first = runs[0]!
    if (board === first.board && taskId === first.taskId) return
    const expected = `task ${first.taskId} on ${first.board}, as in the first run; is the file of another run?`
    throw new InvalidInputError(`runs[${i}]`, `task ${taskId} on ${board}`, expected)
  })
  // The best run comes first, as in the table beside the chart.
  const summaries = rankRuns(runs.map(summarizeRun))
  const algorithms = summaries.map(({ algorithm }) => algorithm)
  const usual = chartOrder(algorithms)
  const colors = chartColors(usual)
  const strips = summaries.map((summary): ChartedRun => {
    const run = runs.find(({ algorithm }) => algorithm === summary.algorithm)!
    return { run, summary, color: colors[usual.indexOf(summary.algorithm)]! }
  })
  const first = strips[0]!.run
  const time = timeAxis(Math.max(...runs.map(({ durationMs }) => durationMs)))
  const frame = { width: PLOT_WIDTH, time, rangeW: powerRange(strips) }
  const heading = `Power, average over 1 s, W (${powerSources(strips)}; axis from ${frame.rangeW[0]} W)`
  const panels = first.requests
    ? [arrivalsPanel(first.requests, time), missedPanel(strips, time)]
    : [throughputPanel(strips, time)]
  return {
    config: chartConfig,
    // The page reads this list to filter the strips by algorithm.
    usermeta: { strips: algorithms },
    title: chartTitle(
      `Task ${first.taskId}: ${first.model} on ${first.dataset}, ${first.board}`,
      `Dashed: ${capText(first)}. Red: power more than 1 % above it.`,
    ),
    spacing: 10,
    resolve: { scale: { color: 'independent' } },
    vconcat: [
      ...strips.map((strip, i) => powerStrip(strip, frame, i === 0 ? heading : null)),
      ...panels.map((panel) => ({ ...panel, width: PLOT_WIDTH })),
    ],
  }
}

function powerRange(strips: readonly ChartedRun[]): [number, number] {
  const capsW = strips.flatMap(({ run }) => run.power.powerCapW)
  const highestCapW = capsW.reduce((a, b) => Math.max(a, b))
  const lowestCapW = Math.min(...strips.map(({ summary }) => summary.lowestCapW))
  // Leaves space above the highest cap for its label, and a little above the highest power.
  const topW = Math.max(1.14 * highestCapW, ...strips.map(({ summary }) => 1.03 * (summary.peakPowerW ?? 0)))
  const meansW = strips.map(({ summary }) => summary.meanPowerW ?? Number.POSITIVE_INFINITY)
  const startW = Math.min(POWER_AXIS_START.ofCap * lowestCapW, POWER_AXIS_START.ofMean * Math.min(...meansW))
  return [Math.floor(startW / 10) * 10, Math.ceil(topW / 10) * 10]
}

function powerSources(strips: readonly ChartedRun[]): string {
  const sources = new Set(strips.map(({ summary }) => summary.powerSource))
  if (sources.size > 1) return 'true power if known, otherwise the reading of the sensor'
  return sources.has('true') ? 'true power, not the reading of the sensor' : "as the board's sensor read it"
}

function capText(run: RunRecord): string {
  const steps = run.power.powerCapW.filter((capW, i, all) => capW !== all[i - 1])
  return steps.length > MAX_CAPS_NAMED ? 'changing power cap' : `power cap ${steps.join(' \u2192 ')} W`
}

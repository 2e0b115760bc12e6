import { STEADY_TOLERANCE } from '../evaluate/index.js'
import { EXCESS_TOLERANCE, START_UP_TOLERANCE } from '../evaluate/power-metrics.js'
import { costFactors } from './cost.js'
import type { BoardContent, ReportContent, TaskContent } from './report-content.js'

export function taskHeading({ task, oracle, rows }: TaskContent): string {
  const caps = task.capsW.join(' \u2192 ')
  const best = oracle === null ? '' : `, oracle ${oracle.toFixed(0)} images/s`
  const objectives = (rows[0]?.summary.latency ?? []).flatMap(({ objectiveMs }) => objectiveMs ?? [])
  const promised =
    objectives.length === 0
      ? ''
      : `, 99 % of ${rows[0]!.summary.requests ? 'requests' : 'batches'} within ${objectives.join(', ')} ms`
  return `Task ${task.id}: ${task.model} on ${task.dataset}, ${caps} W${promised}${best}`
}

export function caption({ baseline }: BoardContent): string {
  return `Ratios are geometric means over the tasks on which both the algorithm and ${baseline} hold the cap.`
}

/** Says how the figures were obtained, one sentence per kind of figure. */
export function explanation({ boards, madeBy, oracle }: ReportContent): string[] {
  const knowsTruth = boards.some(({ tasks }) =>
    tasks.some(({ rows }) => rows.some(({ summary }) => summary.powerSource === 'true')),
  )
  return [
    `A run holds its cap if its power, averaged over 1 s, is more than ${100 * EXCESS_TOLERANCE} % above it for at most ${100 * STEADY_TOLERANCE} % of the steady state. The first 10 s after the start and each reconfiguration are judged by themselves: at most ${100 * START_UP_TOLERANCE} %.`,
    `Throughput and power are over the whole run, loading and restarts included. ${
      knowsTruth
        ? 'On a simulated board power is what really flows at every instant, in the watts of its own sensor, in which caps are set.'
        : "Power is what the board's sensor said."
    }`,
    ...(oracle === undefined ? [] : [oracle]),
    'Where several boards were run, figures are means. From 16 boards on, intervals are 95 % confidence intervals by Student\u2019s t; with fewer boards the range is shown.',
    `Cost: ${costFactors}, of the board alone (no host, no cooling).`,
    ...madeBy.map((maker) => `Made by ${maker}.`),
  ]
}

import { EXCESS_TOLERANCE } from '@pctodl/scheduler'
import { STEADY_TOLERANCE } from '../report/index.js'
import { ORACLE_SHARE_STEP } from './reference-lines.js'
import type { BoardContent, ReportContent, TaskContent } from './report-content.js'

export function taskHeading({ task, oracle }: TaskContent): string {
  const caps = task.schedule ? task.schedule.capsW.join(' \u2192 ') : task.powerCapW
  const best = oracle === null ? '' : `, oracle ${oracle.toFixed(0)} images/s`
  return `Task ${task.id}: ${task.model} on ${task.dataset}, ${caps} W${best}`
}

export function caption({ baseline }: BoardContent): string {
  return `Ratios are geometric means over the tasks on which both the algorithm and ${baseline} hold the cap.`
}

/** How the figures were obtained, one sentence each. */
export function explanation({ madeBy, factors }: ReportContent): string[] {
  return [
    `A run holds its cap if its power, averaged over 1 s, is more than ${100 * EXCESS_TOLERANCE} % above it for at most ${100 * STEADY_TOLERANCE} % of the time.`,
    'Throughput and power are over the whole run, loading and restarts included. On a simulated board power is the true power, not the reading of its sensor.',
    `The oracle is the best static configuration that a search over the simulator's truth finds (shares in steps of ${ORACLE_SHARE_STEP} %); a plan with finer shares can pass it a little.`,
    'Where several seeds were run, figures are means, with the 95 % confidence interval of the throughput by Student\u2019s t.',
    `Cost: ${factors.pricePerKwh} ${factors.currency} and ${factors.carbonKgPerKwh} kg CO2 per kWh, of the board alone (no host, no cooling).`,
    ...madeBy.map((maker) => `Made by ${maker}.`),
  ]
}

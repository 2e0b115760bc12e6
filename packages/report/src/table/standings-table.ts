import { groupBy } from '@pctodl/platform'
import { merit, type RunSummary } from '../verdict/run-summary.js'
import { spreadText } from '../verdict/spread.js'
import {
  type Outcome,
  outcomes,
  type Ratio,
  type Standings,
  type Tally,
  type TaskStanding,
  TIE_TOLERANCE,
  tallyOf,
} from '../verdict/standings.js'
import { latencyText } from './latency-text.js'
import { figure, type ReportTable } from './report-table.js'

/** Names of the sets of tasks as tables show them. */
const setWords: Readonly<Record<string, string>> = {
  paper: 'most throughput',
  latency: 'with a latency objective',
  'equal-p99': 'with the p99 of equal-split',
  mixed: 'several networks',
  steps: 'caps that step',
  services: 'services: requests/J',
}

const outcomeWords: Readonly<Record<Outcome, string>> = {
  win: 'win',
  tie: 'tie',
  loss: 'loss',
  'no-opponent': 'no opponent holds',
  nobody: 'nobody holds',
}

const ratioText = (ratio: Ratio | null) => figure(ratio?.value, 3)

const withSpread = (ratio: Ratio | null) =>
  ratio?.spread ? `${ratioText(ratio)} (${spreadText(ratio.spread)})` : ratioText(ratio)

/**
 * Text of the numbers of wins, ties and losses. Other outcomes, and the number of caps that the algorithm itself
 * breaks, are added if they occur.
 */
function outcomesText(tasks: readonly TaskStanding[], counted: Tally['outcomes']): string {
  const own = tasks.flatMap((task) => task.own ?? [])
  const breaks = own.filter(({ verdict }) => verdict.status === 'violates').length
  const atStart = own.filter(({ startUp }) => startUp?.status === 'violates').length
  const further = outcomes.slice(3).flatMap((outcome) => {
    return counted[outcome] > 0 ? [`${outcomeWords[outcome]} ${counted[outcome]}`] : []
  })
  if (breaks > 0) further.push(`breaks ${breaks}`)
  if (atStart > 0) further.push(`breaks at start-up ${atStart}`)
  return [`${counted.win} / ${counted.tie} / ${counted.loss}`, ...further].join('; ')
}

/** The headline table: outcomes and mean ratios for each set of tasks on each board. */
export function headlineTable({ tasks, subject }: Standings): ReportTable {
  const groups = groupBy(tasks, ({ set, board }) => JSON.stringify([set ?? 'paper', board]))
  return {
    head: ['tasks', 'board', 'n', 'win / tie / loss', `${subject} / best other`, 'plan / no plan', `${subject} / plan`],
    rows: [...groups].map(([key, group]) => {
      const [set, board] = JSON.parse(key) as [string, string]
      const { outcomes: counted, ratio, planning, control } = tallyOf(group)
      const boards = Math.max(...group.map(({ rivals }) => rivals.size))
      return [
        setWords[set] ?? set,
        board,
        `${boards}`,
        outcomesText(group, counted),
        withSpread(ratio),
        withSpread(planning),
        withSpread(control),
      ]
    }),
  }
}

export const headlineCaption: string =
  'Ratios are geometric means over tasks, on n boards. In parentheses: the 95 % confidence interval over boards (Student\u2019s t) for 16 ' +
  'boards or more; for fewer, the values of the lowest and the highest board. Best other: the best opponent of each task that holds the cap. ' +
  'Plan: the better of plan-limit-step and plan-fixed-clock, which run pctodl\u2019s tenants without its controller. No plan: the best opponent ' +
  'with other tenants.'

/** The first table of a report: an algorithm compared with the best other algorithm of each task. */
export function standingsTable({ subject, tasks }: Standings): ReportTable {
  return {
    head: [
      'board',
      'task',
      'cap',
      `${subject}, per s`,
      'p99, ms',
      'best other that holds',
      'per s',
      'its p99, ms',
      'ratio',
      'interval or range',
      'planning',
      'control',
      'outcome',
    ],
    rows: tasks.map(({ board, taskId, model, capW, own, rival, ratio, planning, control, outcome }) => [
      board,
      `${taskId} ${model}`,
      capW === 'dynamic' ? 'changes' : `${capW} W`,
      ownMerit(own),
      latencyText(own?.latency),
      rival?.algorithm ?? 'none',
      rival === null ? '-' : meritText(rival),
      latencyText(rival?.latency),
      ratioText(ratio),
      spreadText(ratio?.spread),
      ratioText(planning),
      ratioText(control),
      outcomeWords[outcome],
    ]),
  }
}

/** Names the constraint that a run breaks. */
function brokenWords({ breaks = 'cap' }: RunSummary['verdict']): string {
  return { cap: 'breaks the cap', latency: 'misses its latency', 'cap and latency': 'breaks cap and latency' }[breaks]
}

/** Text of the figure by which algorithms are compared in the task: samples/s, load factor, or joules per request. */
function meritText(run: RunSummary): string {
  if (run.requests?.maxLoad !== undefined) return `${run.requests.maxLoad.toFixed(2)} x load`
  if (run.requests) return run.energyPerSampleJ === null ? '-' : `${run.energyPerSampleJ.toFixed(4)} J`
  return merit(run).toFixed(1)
}

function ownMerit(own: RunSummary | null): string {
  if (own === null) return 'no result'
  return own.verdict.status === 'violates' ? brokenWords(own.verdict) : meritText(own)
}

/** Caption of the first table. */
export function standingsCaption({ subject, outcomes: counted, ratio }: Standings): string {
  const shown = outcomes.filter((outcome) => counted[outcome] > 0 || ['win', 'tie', 'loss'].includes(outcome))
  const text = shown.map((outcome) => `${outcomeWords[outcome]} ${counted[outcome]}`).join(', ')
  const geometric = ratio === null ? '' : `; geometric mean of the ratios ${withSpread(ratio)}`
  return (
    `${subject} compared with the best other algorithm that holds the cap, chosen for each board on the other boards: ${text}${geometric}. ` +
    `A ratio within ${100 * TIE_TOLERANCE} % of 1, or with 1 in its interval or range, is a tie. It is a loss to break the cap or miss a latency ` +
    'objective that another algorithm holds. It is not a win to be the only one that holds the cap. ' +
    'The steady state is judged; services are compared by requests per joule.'
  )
}

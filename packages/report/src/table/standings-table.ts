import type { ReportTable } from '../page/report-tables.js'
import type { RunSummary } from '../verdict/run-summary.js'
import { type Standings, type TaskStanding, TIE_TOLERANCE, tallyOf } from '../verdict/standings.js'
import { latencyText } from './latency-text.js'

const intervalText = (interval: readonly [number, number] | null) =>
  interval === null ? '-' : interval.map((bound) => bound.toFixed(3)).join(' to ')

/** What sets of tasks are called in tables. */
const setWords: Readonly<Record<string, string>> = {
  paper: 'most throughput',
  latency: 'with a latency objective',
  mixed: 'several networks',
  steps: 'caps that step',
}

/** The headline: wins, ties, losses and means for each set of tasks on each board. */
export function headlineTable({ tasks, subject }: Standings): ReportTable {
  const groups = new Map<string, TaskStanding[]>()
  for (const task of tasks) {
    const key = JSON.stringify([task.set ?? 'paper', task.board])
    groups.set(key, [...(groups.get(key) ?? []), task])
  }
  return {
    head: [
      'tasks',
      'board',
      'number',
      'win',
      'tie',
      'loss',
      'against the best other',
      '95 % interval',
      'against equal-split',
      `${subject} breaks`,
      'all others break',
    ],
    rows: [...groups].map(([key, group]) => {
      const [set, board] = JSON.parse(key) as [string, string]
      const { wins, ties, losses, throughputRatio, interval95 } = tallyOf(group)
      const logs = group.flatMap(({ overEqualSplit }) => (overEqualSplit === null ? [] : [Math.log(overEqualSplit)]))
      const plain = logs.length === 0 ? null : Math.exp(logs.reduce((a, b) => a + b, 0) / logs.length)
      return [
        setWords[set] ?? set,
        board,
        String(group.length),
        String(wins),
        String(ties),
        String(losses),
        throughputRatio?.toFixed(3) ?? '-',
        intervalText(interval95),
        plain === null ? '-' : `${plain.toFixed(3)} (${logs.length})`,
        String(group.filter(({ own }) => own?.verdict.status === 'violates').length),
        String(group.filter(({ rival }) => rival === null).length),
      ]
    }),
  }
}

export const headlineCaption: string =
  'Geometric means over tasks; the interval is over boards or seeds, which meet all tasks. Against equal-split: over the tasks ' +
  '(their number in parentheses) that both hold. A run breaks if it does not keep its cap or its latency on any of its boards.'

/** The first table: an algorithm against the best other one of each task. */
export function standingsTable({ subject, tasks }: Standings): ReportTable {
  return {
    head: [
      'board',
      'task',
      'cap',
      `${subject}, samples/s`,
      'p99 latency, ms',
      'best other that holds',
      'samples/s',
      'its p99, ms',
      'ratio',
      '95 % interval',
      'outcome',
    ],
    rows: tasks.map((task) => [
      task.board,
      `${task.taskId} ${task.model}`,
      task.capW === 'dynamic' ? 'changes' : `${task.capW} W`,
      ownThroughput(task),
      latencyText(task.own?.latency),
      task.rival?.algorithm ?? 'none',
      task.rival?.throughput.toFixed(1) ?? '-',
      latencyText(task.rival?.latency),
      task.ratio?.toFixed(3) ?? '-',
      intervalText(task.interval95),
      task.outcome,
    ]),
  }
}

/** What a run does not keep, in words. */
export function brokenWords({ breaks = 'cap' }: RunSummary['verdict']): string {
  return { cap: 'breaks the cap', latency: 'misses its latency', 'cap and latency': 'breaks cap and latency' }[breaks]
}

function ownThroughput({ own }: TaskStanding): string {
  if (own === null) return 'no result'
  return own.verdict.status === 'violates' ? brokenWords(own.verdict) : own.throughput.toFixed(1)
}

export const standingsHeading = 'Against the best other algorithm of each task'

/** The first table in two sentences. */
export function standingsCaption(standings: Standings): string {
  const { subject, tasks, wins, ties, losses, throughputRatio, interval95 } = standings
  const open = tasks.length - wins - ties - losses
  const many = (count: number, one: string, several: string) => `${count} ${count === 1 ? one : several}`
  const outcomes = [
    many(wins, 'win', 'wins'),
    many(ties, 'tie', 'ties'),
    many(losses, 'loss', 'losses'),
    ...(open > 0 ? [`${open} in which nobody holds the cap`] : []),
  ]
  const within = interval95 === null ? '' : ` (${intervalText(interval95)})`
  const mean = throughputRatio === null ? '' : `; geometric mean of the ratios ${throughputRatio.toFixed(3)}${within}`
  return (
    `${subject} against the fastest other algorithm that holds the cap, which may be another one in each task: ` +
    `${outcomes.join(', ')}${mean}. A tie is within ${100 * TIE_TOLERANCE} %, or has 1 in its 95 % interval over paired runs; ` +
    'to break the cap, or to miss a latency objective, where another keeps it is a loss.'
  )
}

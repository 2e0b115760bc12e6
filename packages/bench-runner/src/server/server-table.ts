import type { ServerRun } from './run-server-task.js'
import { type ServerCell, timesOf } from './server-cell.js'
import type { ServerResult } from './server-store.js'

export interface FinishedServerCell {
  readonly cell: ServerCell
  readonly result: ServerResult
}

/** What the others are measured by. */
const REFERENCE = 'equal-shares'

/** A line for each run of the tasks, task by task, and a line for each policy over all of them. */
export function formatServerTables(finished: readonly FinishedServerCell[]): string {
  const runs = finished.flatMap(({ cell, result: { run } }) => (run ? [{ cell, run }] : []))
  const loads = finished.flatMap(({ cell, result: { mostLoad } }) =>
    mostLoad === undefined ? [] : [{ cell, mostLoad }],
  )
  const parts: string[] = []
  for (const key of new Set(runs.map(({ cell }) => taskOf(cell)))) {
    const ofTask = runs.filter(({ cell }) => taskOf(cell) === key)
    parts.push(`${key}\n${columns([runHead, ...ofTask.map(({ cell, run }) => runLine(cell, run))])}`)
  }
  if (new Set(runs.map(({ cell }) => taskOf(cell))).size > 1) parts.push(columns([policyHead, ...policyLines(runs)]))
  if (loads.length > 0) parts.push(columns([loadHead, ...loadLines(loads)]))
  return parts.join('\n\n')
}

const runHead = ['policy', 'worst attainment', 'in time/s', 'worst p99', 'mean W', 'mJ/request', 'shed', 'cap']

function runLine({ policy }: ServerCell, run: ServerRun): string[] {
  const { services } = run
  const worst = services.reduce((low, each) => ((each.attainment ?? 1) < (low.attainment ?? 1) ? each : low))
  const slowest = services.reduce((high, each) => ((each.p99Ms ?? 0) > (high.p99Ms ?? 0) ? each : high))
  return [
    policy,
    `${percent(worst.attainment)} ${worst.service}`,
    services.reduce((sum, { goodputPerS }) => sum + goodputPerS, 0).toFixed(0),
    `${slowest.p99Ms?.toFixed(0) ?? '-'} ms ${slowest.service}`,
    run.meanPowerW.toFixed(1),
    run.energyPerRequestJ === null ? '-' : (1000 * run.energyPerRequestJ).toFixed(1),
    String(services.reduce((sum, { shed, failed }) => sum + shed + failed, 0)),
    run.capHolds ? 'holds' : '! VIOLATES',
  ]
}

const policyHead = [
  'policy',
  'runs',
  'all objectives met',
  'worst attainment',
  `mJ/request, by ${REFERENCE}`,
  'cap broken',
]

interface Run {
  readonly cell: ServerCell
  readonly run: ServerRun
}

function policyLines(runs: readonly Run[]): string[][] {
  return policiesOf(runs).map((policy) => {
    const own = runs.filter(({ cell }) => cell.policy === policy)
    const worst = Math.min(...own.flatMap(({ run }) => run.services.map(({ attainment }) => attainment ?? 1)))
    const ratios = own.flatMap(({ cell, run }) => {
      const reference = runs.find((other) => other.cell.policy === REFERENCE && sameBoardAndTask(other.cell, cell))?.run
      const [mine, theirs] = [run.energyPerRequestJ, reference?.energyPerRequestJ]
      return mine === null || theirs === null || theirs === undefined ? [] : [mine / theirs]
    })
    return [
      policy,
      String(own.length),
      String(own.filter(({ run }) => run.objectivesMet).length),
      percent(worst),
      ratios.length === 0 ? '-' : geometricMean(ratios).toFixed(3),
      String(own.filter(({ run }) => !run.capHolds).length),
    ]
  })
}

const loadHead = ['task', 'policy', 'most load', `by ${REFERENCE}`]

interface Load {
  readonly cell: ServerCell
  readonly mostLoad: number
}

function loadLines(loads: readonly Load[]): string[][] {
  const reference = (cell: ServerCell) =>
    loads.find((other) => other.cell.policy === REFERENCE && sameBoardAndTask(other.cell, cell))?.mostLoad
  const ratioOf = ({ cell, mostLoad }: Load) => {
    const theirs = reference(cell)
    return theirs === undefined || theirs === 0 || mostLoad === 0 ? undefined : mostLoad / theirs
  }
  const each = loads.map((load) => [
    taskOf(load.cell),
    load.cell.policy,
    load.mostLoad.toFixed(2),
    ratio(ratioOf(load)),
  ])
  const all = policiesOf(loads).map((policy) => {
    const ratios = loads.filter(({ cell }) => cell.policy === policy).flatMap((load) => ratioOf(load) ?? [])
    return ['geometric mean', policy, '', ratios.length === 0 ? '-' : ratio(geometricMean(ratios))]
  })
  return [...each, ...all]
}

function taskOf({ taskId, taskName, board, variant, seed, loadFactor }: ServerCell): string {
  const on = variant === undefined ? board : `${board}~v${variant}`
  return `task ${taskId} ${taskName}${timesOf(loadFactor)} on ${on}${seed === 1 ? '' : `, seed ${seed}`}`
}

function sameBoardAndTask(a: ServerCell, b: ServerCell): boolean {
  return taskOf(a) === taskOf(b)
}

function policiesOf(cells: readonly { readonly cell: ServerCell }[]): string[] {
  return [...new Set(cells.map(({ cell }) => cell.policy))]
}

function percent(share: number | null): string {
  return share === null ? '-' : `${(100 * share).toFixed(2)} %`
}

function ratio(value: number | undefined): string {
  return value === undefined ? '-' : value.toFixed(3)
}

/** Columns as wide as what is in them, the first row a head. */
function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd()
  return [line(rows[0]!), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.slice(1).map(line)].join('\n')
}

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length)
}

import { mean, quantile, sampleVariance } from '@pctodl/numerics'
import { tableAsMarkdown, withoutEmptyColumns } from '../../packages/report/src/table/report-table.js'
import type { ScenarioPolicy, ScenarioResult } from './run-scenario.js'
import { isBlind, isLate } from './scenarios.js'

const MAX_ABOVE_PERCENT = 1
const MAX_ABOVE_LATE_PERCENT = 2
const LONGEST_MS = 2000
/** Limit for the time above the cap beyond directcap's in the same case, percentage points. */
const MORE_THAN_DIRECTCAP = 0.5

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  tableAsMarkdown(withoutEmptyColumns({ head, rows }))

const titles = [
  'what happens',
  'cases within',
  'above the cap, %: median / worst',
  'directcap, worst',
  'fixed clock, worst',
  'longest stay above, s',
  'highest above, %',
  'throughput over directcap: median / worst',
  'longest time to reach the cap, s',
  'clock changes a minute: mean / most',
]

/** Formats one line for each kind of case, and lists the cases that miss a bound. */
export function tableOf(results: readonly ScenarioResult[]): {
  readonly markdown: string
  readonly missed: readonly string[]
} {
  const rows = [...new Set(results.map(({ kind }) => kind))].map((kind) => {
    const of = (policy: ScenarioPolicy) => results.filter((r) => r.kind === kind && r.policy === policy)
    const ours = of('pctodl')
    const above = ours.map((r) => r.avoidablePercent)
    const changes = ours.map((r) => r.clockChangesPerMinute)
    const ratios = ours.flatMap((r) =>
      same('directcap', r, results)
        .filter((d) => d.failure === null && d.avoidablePercent <= MAX_ABOVE_PERCENT && d.throughput > 0)
        .flatMap((d) => (d.belowLimits ? [] : r.throughput / d.throughput)),
    )
    return [
      kind,
      withinText(ours),
      `${above.length > 0 ? quantile(above, 0.5).toFixed(2) : '-'} / ${worst(ours)}`,
      worst(of('directcap')),
      worst(of('fixed-clock')),
      (Math.max(0, ...ours.map((r) => r.longestMs)) / 1000).toFixed(1),
      Math.max(0, ...ours.map((r) => r.peakPercent)).toFixed(1),
      medianAndMin(ratios),
      (Math.max(0, ...ours.map((r) => r.settlingMs)) / 1000).toFixed(1),
      changes.length > 0 ? `${mean(changes).toFixed(1)} / ${Math.max(...changes).toFixed(1)}` : '-',
    ]
  })
  const policies = [...new Set(results.map(({ policy }) => policy))]
  const totals = policies.map((policy) => `${policy} ${withinText(results.filter((r) => r.policy === policy))}`)
  const ours = results.filter(({ policy }) => policy === 'pctodl')
  const over = policies.flatMap((policy) => {
    const ratios = ours.filter(isWithin).flatMap((result) =>
      same(policy, result, results)
        .filter((r) => isWithin(r) && r.throughput > 0)
        .map((r) => result.throughput / r.throughput),
    )
    return policy === 'pctodl' || ratios.length === 0 ? [] : [`${policy} ${medianAndMin(ratios)} (${ratios.length})`]
  })
  const paragraphs = [table(titles, rows), `Cases within, of all: ${totals.join(', ')}`]
  if (over.length > 0) {
    paragraphs.push(
      `Throughput relative to each policy, in cases where both are within, median / worst (cases): ${over.join(', ')}`,
    )
  }
  return { markdown: paragraphs.join('\n\n'), missed: ours.flatMap((result) => misses(result, results)) }
}

/**
 * Compares pctodl with the variants of it that lack a mechanism, in pairs of runs of the same case, with 95 % intervals
 * of the mean differences. Empty if no such variant ran.
 */
export function ablationTable(results: readonly ScenarioResult[]): string {
  const variants = [...new Set(results.map(({ policy }) => policy))].filter((policy) => policy.startsWith('pctodl-'))
  const rows = variants.map((variant) => {
    const pairs = results.flatMap((all) =>
      all.policy === 'pctodl' ? same(variant, all, results).map((without) => ({ all, without })) : [],
    )
    const runs = pairs.map(({ without }) => without)
    return [
      variant === 'pctodl-shadow' ? 'with the shadow optimizer' : `without ${variant.slice('pctodl-'.length)}`,
      withinText(runs),
      worst(runs),
      interval(pairs.map(({ all, without }) => without.avoidablePercent - all.avoidablePercent)),
      interval(pairs.map(({ all, without }) => without.throughput / Math.max(1, all.throughput))),
      interval(pairs.map(({ all, without }) => without.clockChangesPerMinute - all.clockChangesPerMinute)),
      interval(pairs.map(({ all, without }) => (without.settlingMs - all.settlingMs) / 1000)),
    ]
  })
  const head = [
    'pctodl',
    'cases within',
    'above the cap, worst, %',
    'more above, points',
    'throughput, factor',
    'more clock changes a minute',
    'longer to reach the cap, s',
  ]
  return rows.length === 0 ? '' : `${table(head, rows)}\n`
}

/** Formats a mean with its 95 % interval. */
function interval(values: readonly number[]): string {
  return `${mean(values).toFixed(3)} +- ${(1.96 * Math.sqrt(sampleVariance(values) / values.length)).toFixed(3)}`
}

function withinText(results: readonly ScenarioResult[]): string {
  return `${results.filter(isWithin).length} of ${results.length}`
}

function isWithin(result: ScenarioResult): boolean {
  return result.avoidablePercent <= boundOf(result) && result.longestMs <= LONGEST_MS && result.failure === null
}

/** Limit for the share of the time above the cap, percent. */
function boundOf({ kind, disturbances = [kind] }: ScenarioResult): number {
  return disturbances.some(isLate) ? MAX_ABOVE_LATE_PERCENT : MAX_ABOVE_PERCENT
}

function misses(result: ScenarioResult, results: readonly ScenarioResult[]): string[] {
  const { kind, disturbances, number, board, network, capW, avoidablePercent, longestMs, failure } = result
  const [direct] = same('directcap', result, results)
  const said: string[] = []
  if (failure !== null) said.push(`failed: ${failure}`)
  if (avoidablePercent > boundOf(result)) said.push(`above for ${avoidablePercent.toFixed(2)} %`)
  if (longestMs > LONGEST_MS) said.push(`longest stay ${(longestMs / 1000).toFixed(1)} s`)
  // A run of directcap that ended because the board refused a setting is not compared.
  const isWorse = direct?.failure === null && avoidablePercent > direct.avoidablePercent + MORE_THAN_DIRECTCAP
  if (isWorse && !isBlind(kind)) said.push(`directcap ${direct.avoidablePercent.toFixed(2)} %`)
  if (said.length === 0) return []
  const name = disturbances === undefined ? kind : `${kind} (${disturbances.join(' + ')})`
  const below = result.belowLimits ? ', below its limits' : ''
  return [`${name} ${number} (${board}, ${network}, ${capW} W${below}): ${said.join(', ')}`]
}

function same(policy: ScenarioPolicy, { kind, number }: ScenarioResult, results: readonly ScenarioResult[]) {
  return results.filter((r) => r.policy === policy && r.kind === kind && r.number === number)
}

function medianAndMin(values: readonly number[]): string {
  return values.length > 0 ? `${quantile(values, 0.5).toFixed(3)} / ${Math.min(...values).toFixed(3)}` : '-'
}

function worst(results: readonly ScenarioResult[]): string {
  return results.length > 0 ? Math.max(...results.map((r) => r.avoidablePercent)).toFixed(2) : '-'
}

import { quantile } from '@pctodl/numerics'
import type { ScenarioPolicy, ScenarioResult } from './run-scenario.js'
import { isBlind, isLate } from './scenarios.js'

const MAX_ABOVE_PERCENT = 1
const MAX_ABOVE_LATE_PERCENT = 2
const LONGEST_MS = 2000
/** Limit for the time above the cap beyond directcap's in the same case, percentage points. */
const MORE_THAN_DIRECTCAP = 0.5
/** Throughput counts as equal to directcap's from this ratio on, because runs end between batches. */
const LEVEL = 0.995
/** Minimum throughput from 5 s after a return of the load, as a share of the best configuration's. */
const BACK = 0.97
/** Minimum of the median throughput of the stationary cases, as a share of the best configuration's. */
const STATIONARY = 0.978

export interface Verdict {
  readonly markdown: string
  readonly missed: readonly string[]
}

const titles = [
  'what happens',
  'cases within',
  'above the cap, %: median / worst',
  'directcap, worst',
  'fixed clock, worst',
  'longest stay above, s',
  'highest above, %',
  'throughput over directcap: median / worst',
  'over the oracle, %: median / worst',
  'from 5 s after a return, over the oracle, %: median / worst',
  'the same over its own tenants at the best clock, %: median / worst',
]

/** Formats one line for each kind of case, and lists the cases that miss a bound. */
export function tableOf(results: readonly ScenarioResult[]): Verdict {
  const names = [...new Set(results.map(({ kind }) => kind))]
  const missed = results.filter(({ policy }) => policy === 'pctodl').flatMap((result) => misses(result, results))
  const rows = names.map((kind) => {
    const of = (policy: ScenarioPolicy) => results.filter((r) => r.kind === kind && r.policy === policy)
    const ours = of('pctodl')
    const ratios = ours.flatMap((r) => ratioTo('directcap', r, results))
    const oracle = percents(ours.map((r) => r.oracleRatio))
    const back = percents(ours.map((r) => r.backOverOracle))
    const backOverClock = percents(ours.map((r) => r.backOverClock))
    const cells = [
      kind,
      withinText(ours),
      `${median(ours.map((r) => r.avoidablePercent))} / ${worst(ours)}`,
      worst(of('directcap')),
      worst(of('fixed-clock')),
      (Math.max(0, ...ours.map((r) => r.longestMs)) / 1000).toFixed(1),
      Math.max(0, ...ours.map((r) => r.peakPercent)).toFixed(1),
      ratios.length > 0 ? `${quantile(ratios, 0.5).toFixed(3)} / ${Math.min(...ratios).toFixed(3)}` : '-',
      medianAndMin(oracle),
      medianAndMin(back),
      medianAndMin(backOverClock),
    ]
    return cells
  })
  const policies = [...new Set(results.map(({ policy }) => policy))]
  const totals = policies.map((policy) => `${policy} ${withinText(results.filter((r) => r.policy === policy))}`)
  const ours = results.filter(({ policy }) => policy === 'pctodl')
  const over = policies.flatMap((policy) => {
    const ratios = ours.filter(isWithin).flatMap((result) => {
      return same(policy, result, results)
        .filter((r) => isWithin(r) && r.throughput > 0)
        .map((r) => result.throughput / r.throughput)
    })
    return policy === 'pctodl' || ratios.length === 0
      ? []
      : [`${policy} ${quantile(ratios, 0.5).toFixed(3)} / ${Math.min(...ratios).toFixed(3)} (${ratios.length})`]
  })
  const stationary = results.flatMap(({ oracleRatio }) => (oracleRatio === null ? [] : [oracleRatio]))
  if (stationary.length > 0 && quantile(stationary, 0.5) < STATIONARY) {
    missed.push(`stationary cases: ${(100 * quantile(stationary, 0.5)).toFixed(1)} % of the oracle in the median`)
  }
  return {
    markdown: `${withoutEmptyColumns([titles, ...rows])}\n\nCases within, of all: ${totals.join(', ')}${over.length === 0 ? '' : `\n\nThroughput relative to each policy, in cases where both are within, median / worst (cases): ${over.join(', ')}`}`,
    missed,
  }
}

/** Formats a table without the columns that have no values. */
function withoutEmptyColumns([head, ...rows]: readonly (readonly string[])[]): string {
  const kept = head!.map((_, column) => rows.some((cells) => cells[column] !== '-'))
  const line = (cells: readonly string[]) => `| ${cells.filter((_, column) => kept[column]).join(' | ')} |`
  return [line(head!), line(head!.map(() => '---')), ...rows.map(line)].join('\n')
}

function withinText(results: readonly ScenarioResult[]): string {
  return `${results.filter(isWithin).length} of ${results.length}`
}

export function isWithin(result: ScenarioResult): boolean {
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
  if (
    direct &&
    direct.failure === null &&
    !isBlind(kind) &&
    avoidablePercent > direct.avoidablePercent + MORE_THAN_DIRECTCAP
  ) {
    said.push(`directcap ${direct.avoidablePercent.toFixed(2)} %`)
  }
  const [ratio = 1] = ratioTo('directcap', result, results)
  if (result.stationary && ratio < LEVEL) said.push(`throughput ${ratio.toFixed(3)} of directcap's`)
  const { backOverOracle } = result
  if (backOverOracle !== null && backOverOracle < BACK && !result.belowLimits) {
    said.push(`5 s after a return ${(100 * backOverOracle).toFixed(1)} % of the oracle`)
  }
  return said.length > 0
    ? [
        `${disturbances === undefined ? kind : `${kind} (${disturbances.join(' + ')})`} ${number} (${board}, ${network}, ${capW} W${result.belowLimits ? ', below its limits' : ''}): ${said.join(', ')}`,
      ]
    : []
}

function same(policy: ScenarioPolicy, { kind, number }: ScenarioResult, results: readonly ScenarioResult[]) {
  return results.filter((r) => r.policy === policy && r.kind === kind && r.number === number)
}

/** Throughput divided by that of another policy, for each case in which the other policy held the cap. */
function ratioTo(policy: ScenarioPolicy, result: ScenarioResult, results: readonly ScenarioResult[]): number[] {
  return same(policy, result, results)
    .filter((r) => r.failure === null && r.avoidablePercent <= MAX_ABOVE_PERCENT && r.throughput > 0 && !r.belowLimits)
    .map((r) => result.throughput / r.throughput)
}

function percents(shares: readonly (number | null)[]): number[] {
  return shares.flatMap((share) => (share === null ? [] : [100 * share]))
}

function medianAndMin(values: readonly number[]): string {
  return values.length > 0 ? `${quantile(values, 0.5).toFixed(1)} / ${Math.min(...values).toFixed(1)}` : '-'
}

function median(values: readonly number[]): string {
  return values.length > 0 ? quantile(values, 0.5).toFixed(2) : '-'
}

function worst(results: readonly ScenarioResult[]): string {
  return results.length > 0 ? Math.max(...results.map((r) => r.avoidablePercent)).toFixed(2) : '-'
}

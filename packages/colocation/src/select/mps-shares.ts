import { sum } from '@pctodl/numerics'
import { UnknownNameError } from '@pctodl/platform'
import { assertInput } from '../input-checks.js'
import { type CsvRow, parseCsvTable, TableError } from '../tables/csv-table.js'
import type { Objective } from './group-judge.js'

export interface SharePoint {
  /** MPS active thread percentage of each member. */
  readonly mpsPercents: readonly number[]
  readonly throughputs: readonly number[]
}

/** One colocation, measured at several splits. */
export interface ShareSweep {
  readonly members: readonly string[]
  /** Measured splits; those marked `None` in the file are left out. */
  readonly points: readonly SharePoint[]
}

/**
 * Reads the published sweep of shares. Its columns are `workload1..k`, then one per split, headed `(LS10, BE90)` or
 * `(w1_10, w2_90)`, with cells such as `(23.7, 3.5)` or `None`.
 *
 * @throws TableError with line and column
 */
export function parseShareSweepTable(text: string, file = 'share sweep'): ShareSweep[] {
  const { columns, rows } = parseCsvTable(text, file, ['workload1', 'workload2'])
  const names = columns.filter((column) => /^workload[1-9]\d*$/.test(column))
  const splits = columns
    .filter((column) => column.startsWith('('))
    .map((column) => ({ column, mpsPercents: splitOf(column, names.length, file) }))
  if (splits.length === 0) throw new TableError(file, 1, undefined, "no split, expected columns such as '(LS10, BE90)'")
  return rows.map((row) => ({
    members: names.map((name) => row.text(name)),
    points: splits.flatMap(({ column, mpsPercents }) => {
      const throughputs = tupleOf(row, column, names.length)
      return throughputs === undefined ? [] : [{ mpsPercents, throughputs }]
    }),
  }))
}

function splitOf(column: string, size: number, file: string): number[] {
  const shares = partsOf(column).map((part) => Number(/^(?:LS|BE|w[1-9]\d*_)(\d+)$/.exec(part)?.[1]))
  if (shares.length !== size || !shares.every((share) => share > 0 && share <= 100)) {
    throw new TableError(file, 1, column, `expected ${size} shares from 1 to 100, such as '(LS10, BE90)'`)
  }
  return shares
}

/** Returns a tuple of numbers of at least 0; undefined if all or part of it is `None`, which marks a failed run. */
function tupleOf(row: CsvRow, column: string, size: number): number[] | undefined {
  const text = row.optionalText(column) ?? 'None'
  const parts = partsOf(text)
  if (text === 'None' || (parts.length === size && parts.includes('None'))) return undefined
  const values = parts.map((part) => (part === '' ? Number.NaN : Number(part)))
  if (values.length !== size || !values.every((value) => value >= 0 && value < Infinity)) {
    throw row.error(column, `got '${text}', expected a tuple of ${size} numbers or None`)
  }
  return values
}

/** Parts of a text such as `(a, b)`; none for another text. */
function partsOf(text: string): string[] {
  const parts = /^\((.*)\)$/.exec(text)?.[1]?.split(',') ?? []
  return parts.map((part) => part.trim())
}

/** Read solo throughputs by share: `workload`, then one column for each MPS share in percent. */
export function parseSoloSweepTable(text: string, file = 'solo sweep'): Map<string, SharePoint[]> {
  const { columns, rows } = parseCsvTable(text, file, ['workload'], { shortRows: true })
  const shares = columns.filter((column) => /^\d+$/.test(column) && Number(column) > 0 && Number(column) <= 100)
  if (shares.length === 0) throw new TableError(file, 1, undefined, 'no column headed by a share from 1 to 100')
  const sweeps = new Map<string, SharePoint[]>()
  for (const row of rows) {
    const name = row.text('workload')
    if (sweeps.has(name)) throw row.error('workload', `'${name}' occurs twice, expected one row per workload`)
    const measured = shares.filter((share) => row.optionalText(share) !== undefined)
    const points = measured.map((share) => ({ mpsPercents: [Number(share)], throughputs: [row.notNegative(share)] }))
    sweeps.set(name, points)
  }
  return sweeps
}

/**
 * Expected throughputs of two workloads at unmeasured splits. With p and 100 - p percent, each is assumed to reach its
 * solo throughput at that share. Disjoint shares isolate well: over the published sweep of a V100, the measured median
 * is 2 to 5 % lower.
 *
 * @param soloSweep solo throughput by share, for each workload
 * @throws UnknownNameError for a workload without a sweep; InvalidInputError if no two shares add up to 100
 */
export function expectedShareSweep(
  members: readonly [string, string],
  soloSweep: ReadonlyMap<string, readonly SharePoint[]>,
): ShareSweep {
  const [first, second] = members.map((name) => {
    const points = soloSweep.get(name)
    if (!points) throw new UnknownNameError('workload of the solo sweep', name, [...soloSweep.keys()])
    return points
  }) as [readonly SharePoint[], readonly SharePoint[]]
  const points = first.flatMap((a) => {
    const share = a.mpsPercents[0]!
    const b = second.find(({ mpsPercents }) => mpsPercents[0] === 100 - share)
    return b ? [{ mpsPercents: [share, 100 - share], throughputs: [a.throughputs[0]!, b.throughputs[0]!] }] : []
  })
  assertInput(points.length > 0, 'soloSweep', members, 'shares of both that add up to 100')
  return { members, points }
}

export interface ShareChoice extends SharePoint {
  /** Share of its exclusive throughput (on the whole board) that each member retains. */
  readonly keptShares: readonly number[]
  readonly value: number
}

/**
 * Chooses the best measured split of MPS shares for a colocation.
 *
 * @param exclusiveThroughputs of each member alone with the whole board, samples/s
 * @param minKeptShares minimum share of its exclusive throughput that each member must retain. Default: none
 * @returns null if no measured split meets these minimums
 */
export function chooseShares(
  { members, points }: ShareSweep,
  exclusiveThroughputs: readonly number[],
  { objective, minKeptShares = [] }: { readonly objective: Objective; readonly minKeptShares?: readonly number[] },
): ShareChoice | null {
  const count = members.length
  const isOfEach = exclusiveThroughputs.length === count
  assertInput(isOfEach, 'exclusiveThroughputs', exclusiveThroughputs, `one per member (${count})`)
  const choices = points.map(({ mpsPercents, throughputs }): ShareChoice => {
    const keptShares = throughputs.map((throughput, i) => throughput / exclusiveThroughputs[i]!)
    return { mpsPercents, throughputs, keptShares, value: sum(objective === 'throughput' ? throughputs : keptShares) }
  })
  return choices
    .filter(({ keptShares }) => keptShares.every((kept, i) => kept >= (minKeptShares[i] ?? 0)))
    .reduce<ShareChoice | null>((best, choice) => (best && best.value >= choice.value ? best : choice), null)
}

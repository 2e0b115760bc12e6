import { type GpuSpec, InvalidInputError, smClocksAt, smsOfShare, type TraceRow } from '@pctodl/platform'
import { mixOf } from '../domain.js'
import type { TenantKind } from '../kind.js'
import type { Mix } from '../parameters.js'
import { assertBatch, assertShare, assertShares } from '../tenant-checks.js'

/** One usable row of a trace, with its tenants as indices of kinds. */
export interface TableRow {
  readonly row: TraceRow
  readonly kinds: readonly number[]
  /** Distinct networks among the tenants. */
  readonly networks: readonly number[]
  readonly mix: Mix
  /** All tenants are of one kind. */
  readonly likeTenants: boolean
  readonly memIndex: number
  /**
   * True if the clock was not locked and `smClockMhz` is the nominal clock, which the power limit may have lowered.
   */
  readonly nominalClock: boolean
  /**
   * Group of the row. Rows with the same kinds of tenants form a group, in any number and at any clocks, and are held
   * out together.
   */
  readonly group: string
}

/** Usable rows of a fit, with names replaced by indices. */
export interface TraceTable {
  readonly networkNames: readonly string[]
  readonly memClocksMhz: readonly number[]
  readonly kinds: readonly TenantKind[]
  readonly rows: readonly TableRow[]
  readonly failedRows: number
}

export interface TraceTableOptions {
  /** Meaning of the clock column in rows without a locked clock. Default: the measured clock. */
  readonly unlockedClock?: 'measured' | 'nominal' | undefined
  /** Memory clocks of the table, descending; a clock need not have rows. Default: the clocks of the rows. */
  readonly memClocksMhz?: readonly number[] | undefined
}

/**
 * Prepare the usable rows of a trace for a fit.
 *
 * @throws InvalidInputError if no row is usable, or if a row that did not fail cannot be from this board. The message
 * counts rows from 0, as `rows[i]`.
 */
export function traceTable(
  traceRows: readonly TraceRow[],
  spec: GpuSpec,
  { unlockedClock = 'measured', memClocksMhz: givenClocks }: TraceTableOptions = {},
): TraceTable {
  if (!Array.isArray(traceRows as unknown)) throw new InvalidInputError('rows', traceRows, 'a list of trace rows')
  const usable = traceRows.filter((row, i) => {
    if (typeof row !== 'object' || row === null) throw new InvalidInputError(`rows[${i}]`, row, 'a trace row')
    if (row.failed || !(row.throughput > 0 && row.powerAverageW > 0)) return false
    assertTraceRow(row, `rows[${i}]`, spec)
    assertMeasured(row, `rows[${i}]`)
    return true
  })
  if (usable.length === 0) throw new InvalidInputError('rows', traceRows.length, 'at least one row that did not fail')
  const networkNames = [...new Set(usable.flatMap((row) => row.tenants.map((tenant) => tenant.model)))].sort()
  const memClocksMhz = givenClocks ?? [...new Set(usable.map((row) => row.memClockMhz))].sort((a, b) => b - a)
  const kinds: TenantKind[] = []
  const kindIndex = new Map<string, number>()
  const rows = usable.map((row): TableRow => {
    const memIndex = memClocksMhz.indexOf(row.memClockMhz)
    const tenants = row.tenants.length
    const indices = row.tenants.map(({ model, mpsPercent, batchSize }) => {
      const sms = smsOfShare(spec, mpsPercent)
      const key = [model, sms, batchSize, memIndex, tenants].join()
      let index = kindIndex.get(key)
      if (index === undefined) {
        index = kinds.push({ network: networkNames.indexOf(model), sms, batchSize, memIndex, tenants }) - 1
        kindIndex.set(key, index)
      }
      return index
    })
    const networks = [...new Set(indices.map((index) => kinds[index]!.network))]
    const likeTenants = indices.every((index) => index === indices[0])
    return {
      row,
      kinds: indices,
      networks,
      mix: mixOf(likeTenants, networks.length > 1),
      likeTenants,
      memIndex,
      nominalClock: unlockedClock === 'nominal' && row.targetSmClockMhz === null,
      group: [...new Set(row.tenants.map((t) => `${t.model}:${t.mpsPercent}:${t.batchSize}`))].sort().join('|'),
    }
  })
  return { networkNames, memClocksMhz, kinds, rows, failedRows: traceRows.length - usable.length }
}

/** Reject infinite values, which a sensor or a division by 0 can produce. One such row would ruin the fit. */
function assertMeasured({ throughput, powerAverageW, tenantThroughput }: TraceRow, name: string): void {
  const finite = (field: string, value: number) => {
    if (!Number.isFinite(value)) throw new InvalidInputError(`${name}.${field}`, value, 'a finite number')
  }
  finite('throughput', throughput)
  finite('powerAverageW', powerAverageW)
  tenantThroughput.forEach((value, i) => {
    if (value === Number.POSITIVE_INFINITY) finite(`tenantThroughput[${i}]`, value)
  })
}

/**
 * Check that a row can be from this board.
 *
 * @param name name of the row in error messages
 * @throws InvalidInputError for a row that cannot be from this board
 */
export function assertTraceRow({ tenants, smClockMhz, memClockMhz }: TraceRow, name: string, spec: GpuSpec): void {
  const clocks = smClocksAt(spec, memClockMhz)
  if (clocks === undefined) {
    const known = spec.clockStates.map((state) => state.memClockMhz).join(', ')
    throw new InvalidInputError(`${name}.memClockMhz`, memClockMhz, `a memory clock of ${spec.key}: ${known}`)
  }
  if (!(smClockMhz > 0 && smClockMhz <= clocks.at(-1)!)) {
    throw new InvalidInputError(`${name}.smClockMhz`, smClockMhz, `a clock above 0 and up to ${clocks.at(-1)} MHz`)
  }
  if (tenants.length === 0) throw new InvalidInputError(`${name}.tenants`, tenants, 'at least one tenant')
  const owner = `${name}.`
  tenants.forEach(({ mpsPercent, batchSize }, i) => {
    assertShare(mpsPercent, i, owner)
    assertBatch(batchSize, i, owner)
  })
  assertShares(
    tenants.reduce((sum, tenant) => sum + tenant.mpsPercent, 0),
    owner,
  )
}

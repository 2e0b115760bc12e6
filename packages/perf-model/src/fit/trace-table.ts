import { type GpuSpec, InvalidInputError, smClocksAt, smsOfShare, type Tenant, type TraceRow } from '@pctodl/platform'
import { mixOf } from '../domain.js'
import { type FieldCheck, listOf, numberThat, someText } from '../field-checks.js'
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
  const usable = Array.from(traceRows).filter((row, i) => {
    if (typeof row !== 'object' || row === null) throw new InvalidInputError(`rows[${i}]`, row, 'a trace row')
    if (row.failed) return false
    for (const field of ['throughput', 'powerAverageW'] as const) measured(row[field], `rows[${i}].${field}`)
    if (!(row.throughput > 0 && row.powerAverageW > 0)) return false
    assertTraceRow(row, `rows[${i}]`, spec, givenClocks)
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

const finite = numberThat('a finite number', () => true)
/** A measured value; NaN if there is none. Infinity, which a division by 0 can produce, would ruin a fit. */
const measured: FieldCheck = (value, field) => {
  if (!Number.isNaN(value)) finite(value, field)
}
const perTenant = listOf(measured)

/**
 * Check that a row can be from this board.
 *
 * @param name name of the row in error messages
 * @param memClocksMhz memory clocks to accept. Default: the clocks of the board
 * @throws InvalidInputError for a row that cannot be from this board
 */
export function assertTraceRow(
  row: TraceRow,
  name: string,
  spec: GpuSpec,
  memClocksMhz: readonly number[] = spec.clockStates.map((state) => state.memClockMhz),
): void {
  const { tenants, smClockMhz, memClockMhz, memoryUsedBytes } = row
  const clocks = smClocksAt(spec, memClockMhz)
  if (clocks === undefined || !memClocksMhz.includes(memClockMhz)) {
    const expected = `one of the memory clocks of ${spec.key}: ${memClocksMhz.join(', ')}`
    throw new InvalidInputError(`${name}.memClockMhz`, memClockMhz, expected)
  }
  if (!(typeof smClockMhz === 'number' && smClockMhz > 0 && smClockMhz <= clocks.at(-1)!)) {
    throw new InvalidInputError(`${name}.smClockMhz`, smClockMhz, `a clock above 0 and up to ${clocks.at(-1)} MHz`)
  }
  if (!Array.isArray(tenants) || tenants.length === 0) {
    throw new InvalidInputError(`${name}.tenants`, tenants, 'a list of at least one tenant')
  }
  const owner = `${name}.`
  let shareSum = 0
  for (const [i, tenant] of tenants.entries()) {
    const { model, mpsPercent, batchSize } = Object(tenant) as Tenant
    someText(model, `${owner}tenants[${i}].model`)
    assertShare(mpsPercent, i, owner)
    assertBatch(batchSize, i, owner)
    shareSum += mpsPercent
  }
  assertShares(shareSum, owner)
  perTenant(row.tenantThroughput, `${owner}tenantThroughput`)
  // Only a fit of all parameters needs utilisation; NVML gives none for MIG instances.
  for (const field of ['smUtilPercent', 'memUtilPercent'] as const) measured(row[field], `${owner}${field}`)
  if (memoryUsedBytes !== null) finite(memoryUsedBytes, `${owner}memoryUsedBytes`)
}

import { type GpuSpec, InvalidInputError, smsOfShare, type TraceRow } from '@pctodl/platform'

/** A kind of tenant: network, SMs and batch size. */
export interface TenantKind {
  readonly network: number
  readonly sms: number
  readonly batchSize: number
}

/** One usable row of a trace, its tenants replaced by indices of kinds. */
export interface TableRow {
  readonly row: TraceRow
  readonly kinds: readonly number[]
  /** Distinct networks among the tenants. */
  readonly networks: readonly number[]
  /** All tenants are of one kind. */
  readonly likeTenants: boolean
  readonly memIndex: number
  /** Rows that share a group share their tenants' kinds, whatever their number and clocks: they are held out together. */
  readonly group: string
}

/** The rows of a fit in the form in which the objectives walk over them. */
export interface TraceTable {
  readonly networkNames: readonly string[]
  readonly memClocksMhz: readonly number[]
  readonly kinds: readonly TenantKind[]
  readonly rows: readonly TableRow[]
  readonly failedRows: number
}

/** @throws InvalidInputError where no row is usable */
export function traceTable(traceRows: readonly TraceRow[], spec: GpuSpec): TraceTable {
  const usable = traceRows.filter((row) => !row.failed && row.throughput > 0 && row.powerAverageW > 0)
  if (usable.length === 0) throw new InvalidInputError('rows', traceRows.length, 'at least one row that did not fail')
  const networkNames = [...new Set(usable.flatMap((row) => row.tenants.map((tenant) => tenant.model)))].sort()
  const memClocksMhz = [...new Set(usable.map((row) => row.memClockMhz))].sort((a, b) => b - a)
  const kinds: TenantKind[] = []
  const kindIndex = new Map<string, number>()
  const rows = usable.map((row): TableRow => {
    const indices = row.tenants.map((tenant) => {
      const sms = smsOfShare(spec, tenant.mpsPercent)
      const key = `${tenant.model}:${sms}:${tenant.batchSize}`
      let index = kindIndex.get(key)
      if (index === undefined) {
        index = kinds.push({ network: networkNames.indexOf(tenant.model), sms, batchSize: tenant.batchSize }) - 1
        kindIndex.set(key, index)
      }
      return index
    })
    return {
      row,
      kinds: indices,
      networks: [...new Set(indices.map((index) => kinds[index]!.network))],
      likeTenants: indices.every((index) => index === indices[0]),
      memIndex: memClocksMhz.indexOf(row.memClockMhz),
      group: [...new Set(row.tenants.map((t) => `${t.model}:${t.mpsPercent}:${t.batchSize}`))].sort().join('|'),
    }
  })
  return { networkNames, memClocksMhz, kinds, rows, failedRows: traceRows.length - usable.length }
}

import type { Tenant } from './configuration.js'

/**
 * One measured configuration. The first eleven CSV columns are those of the `mps_profile/` and `scale_profile/` files
 * of PctoDL's Python code; the rest are this project's and may be absent from a file.
 */
export interface TraceRow {
  readonly tenants: readonly Tenant[]
  /** Locked SM clock, MHz; null where the firmware chose the clock. */
  readonly targetSmClockMhz: number | null
  readonly memClockMhz: number
  /** Mean measured SM clock over the window, MHz. */
  readonly smClockMhz: number
  readonly smUtilPercent: number
  readonly memUtilPercent: number
  /** Samples/s over all tenants. */
  readonly throughput: number
  readonly powerAverageW: number
  readonly powerMaxW: number
  /** Samples/s per tenant, in the order of `tenants`; empty where the file has no such column. */
  readonly tenantThroughput: readonly number[]
  /** Mean batch latency per tenant, ms; empty where the file has no such column. */
  readonly tenantLatencyMs: readonly number[]
  /** GPU memory in use over all tenants, bytes; null where the file has no such column. */
  readonly memoryUsedBytes: number | null
  /**
   * A tenant ran out of memory or died, so the measurements are meaningless: zeros in the Python code's files, NaN here
   * and blank in this project's files.
   */
  readonly failed: boolean
}

/** The Python code's columns, then this project's. */
export const traceColumns = [
  'model_name',
  'p_list',
  'b_list',
  'target_freq',
  'mem_freq',
  'sm_freq',
  'sm_util',
  'mem_util',
  'throughput_total',
  'power_avg',
  'power_max',
  'model_list',
  'throughput_list',
  'latency_ms_list',
  'memory_used_mib',
  'failed',
] as const

/** Write rows as CSV with a header. Tenants of different networks get the model name `mixed` and a `model_list`. */
export function formatTraceCsv(rows: readonly TraceRow[]): string {
  return `${[traceColumns.join(','), ...rows.map((row) => traceFields(row).join(','))].join('\n')}\n`
}

/** The fields of one row in the order of `traceColumns`, quoted where necessary; missing measurements are blank. */
export function traceFields(row: TraceRow): string[] {
  const models = row.tenants.map((tenant) => tenant.model)
  const uniform = models.every((model) => model === models[0])
  return [
    (uniform ? models[0] : 'mixed') ?? '',
    list(row.tenants.map((tenant) => tenant.mpsPercent)),
    list(row.tenants.map((tenant) => tenant.batchSize)),
    row.targetSmClockMhz === null ? '' : String(row.targetSmClockMhz),
    String(row.memClockMhz),
    decimal(row.smClockMhz, 1),
    decimal(row.smUtilPercent, 1),
    decimal(row.memUtilPercent, 1),
    decimal(row.throughput, 2),
    decimal(row.powerAverageW, 2),
    decimal(row.powerMaxW, 2),
    uniform ? '' : `"[${models.join(', ')}]"`,
    row.tenantThroughput.length > 0 ? list(row.tenantThroughput.map((x) => Number(x.toFixed(3)))) : '',
    row.tenantLatencyMs.length > 0 ? list(row.tenantLatencyMs.map((x) => Number(x.toFixed(3)))) : '',
    row.memoryUsedBytes === null ? '' : (row.memoryUsedBytes / 1024 ** 2).toFixed(0),
    row.failed ? '1' : '0',
  ]
}

function decimal(value: number, digits: number): string {
  return Number.isNaN(value) ? '' : value.toFixed(digits)
}

function list(values: readonly number[]): string {
  return `"[${values.join(', ')}]"`
}

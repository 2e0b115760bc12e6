import type { Tenant } from './configuration.js'

/**
 * One measured configuration. The first eleven CSV columns are those that PctoDL's Python code writes to `mps_profile/`
 * and `scale_profile/`. The other columns are this project's; a file may lack them.
 */
export interface TraceRow {
  readonly tenants: readonly Tenant[]
  /** Locked SM clock, MHz; null if the firmware chose the clock. */
  readonly targetSmClockMhz: number | null
  readonly memClockMhz: number
  /** Mean measured SM clock over the window, MHz. */
  readonly smClockMhz: number
  readonly smUtilPercent: number
  readonly memUtilPercent: number
  /** Throughput of all tenants together, samples/s. */
  readonly throughput: number
  readonly powerAverageW: number
  readonly powerMaxW: number
  /** Throughput of each tenant, samples/s, in the order of `tenants`; empty if the file has no such column. */
  readonly tenantThroughput: readonly number[]
  /** Mean batch latency of each tenant, ms; empty if the file has no such column. */
  readonly tenantLatencyMs: readonly number[]
  /** GPU memory in use by all tenants together, bytes; null if the file has no such column. */
  readonly memoryUsedBytes: number | null
  /**
   * Whether a tenant ran out of memory or died. The row then has no measurements: zeros in files of the Python code,
   * blanks in this project's files, NaN here.
   */
  readonly failed: boolean
}

/** The columns of PctoDL's Python code, then this project's. */
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

/**
 * Formats rows as CSV with a header. If the tenants of a row run different networks, the model name is `mixed`, and
 * `model_list` lists the networks.
 */
export function formatTraceCsv(rows: readonly TraceRow[]): string {
  return `${[traceColumns.join(','), ...rows.map((row) => traceFields(row).join(','))].join('\n')}\n`
}

/**
 * Returns the fields of one row in the order of `traceColumns`, quoted if necessary. Missing measurements are blank.
 */
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

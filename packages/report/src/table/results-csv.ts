import type { RecordedWindow, RunRecord } from '../record/run-record.js'
import { figure, tableAsCsv } from './report-table.js'

/** The columns of the result files of PctoDL's Python code, in order. */
const columns: Readonly<Record<string, (window: RecordedWindow) => string>> = {
  iter: ({ iteration }) => `${iteration}`,
  mps_resources: ({ tenants }) => JSON.stringify(tenants.map(({ tenant }) => tenant.mpsPercent)),
  batch_sizes: ({ tenants }) => JSON.stringify(tenants.map(({ tenant }) => tenant.batchSize)),
  sm_freq_mhz: ({ applied, smClockMhz }) => figure(applied.smClockMhz ?? smClockMhz, 0),
  mem_freq_mhz: ({ applied, memClockMhz }) => figure(applied.memClockMhz ?? memClockMhz, 0),
  sm_util: ({ smUtilPercent }) => figure(smUtilPercent, 2),
  mem_util: ({ memUtilPercent }) => figure(memUtilPercent, 2),
  throughput_total: ({ throughput }) => figure(throughput, 2),
  power_avg: ({ powerAverageW }) => figure(powerAverageW, 2),
  power_max: ({ powerMaxW }) => figure(powerMaxW, 2),
  power_cap_w: ({ powerCapW }) => figure(powerCapW, 0),
  timestamp: ({ startedAt }) => startedAt.toISOString().slice(0, 19).replace('T', ' '),
}

export const resultsColumns: readonly string[] = Object.keys(columns)

/**
 * Writes the windows of a run as CSV, one row per window. Columns and number formats are those of the result files of
 * PctoDL's Python code: clocks and cap without decimals, other figures with two, lists as `"[30,15,15]"`. A clock is
 * the locked one or, if the firmware chooses, the measured mean. A missing measurement is an empty cell. `timestamp` is
 * the start of the window in UTC, so that the same run gives the same file everywhere; the Python code writes local
 * time.
 */
export function formatResultsCsv(windows: RunRecord['windows']): string {
  return tableAsCsv({
    head: resultsColumns,
    rows: windows.map((window) => Object.values(columns).map((cell) => cell(window))),
  })
}

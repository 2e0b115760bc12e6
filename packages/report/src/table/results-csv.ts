import { InvalidInputError } from '@pctodl/platform'
import type { RunRecord } from '../record/run-record.js'

/** The columns of the result files of PctoDL's Python code, in order. */
export const resultsColumns = [
  'iter',
  'mps_resources',
  'batch_sizes',
  'sm_freq_mhz',
  'mem_freq_mhz',
  'sm_util',
  'mem_util',
  'throughput_total',
  'power_avg',
  'power_max',
  'power_cap_w',
  'timestamp',
] as const

/**
 * Writes the windows of a run as CSV, one row per window. Columns and number formats are those of the result files of
 * PctoDL's Python code: clocks and cap without decimals, other figures with two, lists as `"[30,15,15]"`. A clock is
 * the locked one or, if the firmware chooses, the measured mean. A missing measurement is an empty cell. `timestamp` is
 * the start of the window in UTC, so that the same run gives the same file everywhere; the Python code writes local
 * time.
 *
 * @throws InvalidInputError for an invalid date or a figure that is not finite
 */
export function formatResultsCsv(windows: RunRecord['windows']): string {
  const lines = windows.map((window, i) => {
    const cell = (name: string, value: number | null, decimals: number) =>
      format(`windows[${i}].${name}`, value, decimals)
    return [
      window.iteration,
      list(window.tenants.map(({ tenant }) => tenant.mpsPercent)),
      list(window.tenants.map(({ tenant }) => tenant.batchSize)),
      cell('smClockMhz', window.applied.smClockMhz ?? window.smClockMhz, 0),
      cell('memClockMhz', window.applied.memClockMhz ?? window.memClockMhz, 0),
      cell('smUtilPercent', window.smUtilPercent, 2),
      cell('memUtilPercent', window.memUtilPercent, 2),
      cell('throughput', window.throughput, 2),
      cell('powerAverageW', window.powerAverageW, 2),
      cell('powerMaxW', window.powerMaxW, 2),
      cell('powerCapW', window.powerCapW, 0),
      timestamp(window.startedAt, i),
    ].join(',')
  })
  return `${[resultsColumns.join(','), ...lines].join('\n')}\n`
}

function format(field: string, value: number | null, decimals: number): string {
  if (value === null) return ''
  if (!Number.isFinite(value)) throw new InvalidInputError(field, value, 'a finite number, or null where it is missing')
  return value.toFixed(decimals)
}

function list(values: readonly number[]): string {
  return `"[${values.join(',')}]"`
}

/** Formats a date as `YYYY-MM-DD HH:MM:SS` in UTC. */
function timestamp(date: Date, index: number): string {
  if (Number.isNaN(date.getTime()))
    throw new InvalidInputError(`windows[${index}].startedAt`, String(date), 'a valid date')
  return date.toISOString().slice(0, 19).replace('T', ' ')
}

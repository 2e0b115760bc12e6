import { parse } from 'csv-parse/sync'
import type { ProfileRow } from '../measure/profile-row.js'
import { type RowStatus, rowStatuses } from '../measure/row-status.js'
import { decimal, Field, parseProvenance, quoted, seconds } from './profile-csv.js'

/**
 * The Python code's columns of a static power file, then ours. A blank `sm_freq` means that the firmware chose the
 * clock.
 */
const staticColumns = [
  'sm_freq',
  'mem_freq',
  'measured_sm_freq',
  'duration',
  'sm_util',
  'mem_util',
  'power_avg',
  'power_max',
  'row',
  'repeat',
  'status',
  'message',
  'cool_down_s',
  'settle_s',
  'power_se_pct',
  'energy_j',
  'temperature_c',
  'started_at',
  'board_processes',
] as const

export const staticHeader: string = staticColumns.join(',')

/** A row of the board without work, as a line without a newline. */
export function formatStaticRow(row: ProfileRow): string {
  const fields: Record<(typeof staticColumns)[number], string> = {
    sm_freq: row.targetSmClockMhz === null ? '' : String(row.targetSmClockMhz),
    mem_freq: String(row.memClockMhz),
    measured_sm_freq: decimal(row.smClockMhz, 1),
    duration: seconds(row.windowMs),
    sm_util: decimal(row.smUtilPercent, 1),
    mem_util: decimal(row.memUtilPercent, 1),
    power_avg: decimal(row.powerAverageW, 2),
    power_max: decimal(row.powerMaxW, 2),
    row: String(row.row),
    repeat: String(row.repeat),
    status: row.status,
    message: quoted(row.message),
    cool_down_s: seconds(row.coolDownMs),
    settle_s: seconds(row.settleMs),
    power_se_pct: decimal(row.powerErrorPercent, 3),
    energy_j: row.energyJ === null ? '' : row.energyJ.toFixed(3),
    temperature_c: row.temperatureC === null ? '' : row.temperatureC.toFixed(1),
    started_at: row.startedAt,
    board_processes: quoted(row.boardProcesses),
  }
  return staticColumns.map((column) => fields[column]).join(',')
}

/** @throws TraceFormatError naming row and column */
export function parseStaticCsv(text: string): ProfileRow[] {
  const records: Record<string, string>[] = parse(text, {
    columns: true,
    bom: true,
    trim: true,
    skip_empty_lines: true,
  })
  return records.map((record, i): ProfileRow => {
    const field = new Field(i + 1, record)
    const status = field.oneOf<RowStatus>('status', rowStatuses)
    const measured = (column: string) => field.optional(column) ?? Number.NaN
    return {
      row: field.integer('row'),
      sweep: 'static',
      repeat: field.integer('repeat'),
      status,
      message: field.text('message'),
      failed: field.text('power_avg') === '',
      tenants: [],
      targetSmClockMhz: field.optional('sm_freq'),
      memClockMhz: field.number('mem_freq'),
      smClockMhz: measured('measured_sm_freq'),
      smUtilPercent: measured('sm_util'),
      memUtilPercent: measured('mem_util'),
      throughput: 0,
      powerAverageW: measured('power_avg'),
      powerMaxW: measured('power_max'),
      tenantThroughput: [],
      tenantLatencyMs: [],
      memoryUsedBytes: null,
      coolDownMs: 1000 * field.number('cool_down_s'),
      settleMs: 1000 * field.number('settle_s'),
      windowMs: 1000 * field.number('duration'),
      powerErrorPercent: measured('power_se_pct'),
      throughputErrorPercent: Number.NaN,
      energyJ: field.optional('energy_j'),
      temperatureC: field.optional('temperature_c'),
      clocksEventReasons: [],
      latencyP50Ms: [],
      latencyP95Ms: [],
      latencyP99Ms: [],
      startedAt: field.text('started_at'),
      ...parseProvenance(field),
    }
  })
}

import { parse } from 'csv-parse/sync'
import type { Tenant } from './configuration.js'
import { PctodlError, reasonOf } from './errors.js'
import { type TraceRow, traceColumns } from './trace.js'

type Column = (typeof traceColumns)[number]

/** The columns of PctoDL's Python code, which every trace file must have. Other columns may be missing. */
const requiredColumns = traceColumns.slice(0, 11)

/** Invalid content of a trace file. `row` counts data rows from 1; 0 is the header. */
export class TraceFormatError extends PctodlError {
  constructor(
    readonly row: number,
    readonly column: string,
    found: string,
    expected: string,
    options?: ErrorOptions,
  ) {
    const where = row === 0 ? 'header' : `row ${row}`
    super('TRACE_FORMAT', `trace CSV, ${where}, column '${column}': got '${found}', expected ${expected}`, options)
  }
}

/**
 * Parses a trace. The eleven columns of PctoDL's Python code may be in any order. The other columns of `traceColumns`
 * may be missing, and unknown columns are ignored.
 *
 * A list is written as `[25, 25]` or, for one tenant, as a bare number. Python floats (`50.0`) are accepted. An empty
 * `target_freq` means that the clock was not locked. The Python code writes a failed configuration as a row of zeros,
 * which the parser marks as `failed`. In rows marked as `failed`, blank measurements are read as NaN.
 *
 * @throws TraceFormatError naming row and column
 */
export function parseTraceCsv(text: string): TraceRow[] {
  let records: string[][]
  try {
    records = parse(text, { bom: true, trim: true, skip_empty_lines: true, relax_column_count: true })
  } catch (cause) {
    const reason = reasonOf(cause)
    throw new TraceFormatError(0, '*', reason, 'comma-separated values with quoted lists', { cause })
  }
  const header = records[0] ?? []
  for (const column of requiredColumns) {
    if (!header.includes(column)) {
      throw new TraceFormatError(0, column, header.join(','), `this column beside ${requiredColumns.join(',')}`)
    }
  }
  return records.slice(1).map((record, i) => {
    if (record.length !== header.length) {
      throw new TraceFormatError(i + 1, '*', `${record.length} fields`, `${header.length}, as many as the header has`)
    }
    return parseRow(new Fields(i + 1, header, record))
  })
}

function parseRow(fields: Fields): TraceRow {
  const tenants = parseTenants(fields)
  const mark = fields.text('failed')
  if (!['', '0', '1', 'true', 'false', 'True', 'False'].includes(mark)) {
    throw fields.error('failed', '0 or 1')
  }
  const marked = mark.toLowerCase() === 'true' || mark === '1'
  const measured = (column: Column) => {
    return marked && fields.text(column) === '' ? Number.NaN : fields.number(column, 0)
  }
  const smUtilPercent = measured('sm_util')
  const memUtilPercent = measured('mem_util')
  const throughput = measured('throughput_total')
  const allZero = smUtilPercent === 0 && memUtilPercent === 0 && throughput === 0
  const memoryMib = fields.optionalNumber('memory_used_mib', 0)
  return {
    tenants,
    targetSmClockMhz: fields.optionalNumber('target_freq', 1),
    memClockMhz: fields.number('mem_freq', 1),
    smClockMhz: measured('sm_freq'),
    smUtilPercent,
    memUtilPercent,
    throughput,
    powerAverageW: measured('power_avg'),
    powerMaxW: measured('power_max'),
    tenantThroughput: fields.perTenant('throughput_list', tenants.length),
    tenantLatencyMs: fields.perTenant('latency_ms_list', tenants.length),
    memoryUsedBytes: memoryMib === null ? null : memoryMib * 1024 ** 2,
    failed: allZero || marked,
  }
}

function parseTenants(fields: Fields): Tenant[] {
  const shares = fields.numbers('p_list')
  const batches = fields.numbers('b_list')
  if (shares.length === 0) throw fields.error('p_list', 'at least one share')
  if (batches.length !== shares.length) throw fields.error('b_list', `${shares.length} batches, one for each share`)
  if (shares.some((share) => !(share > 0 && share <= 100))) throw fields.error('p_list', 'shares above 0, at most 100')
  if (batches.some((batch) => !(Number.isInteger(batch) && batch >= 1))) {
    throw fields.error('b_list', 'integers of at least 1')
  }
  const models = fields.names('model_list')
  if (models.length === 0) models.push(...shares.map(() => fields.text('model_name')))
  if (models.length !== shares.length) throw fields.error('model_list', `${shares.length} names, one for each share`)
  if (models.some((model) => model === '')) throw fields.error('model_name', 'the name of a network')
  return shares.map((mpsPercent, i) => ({ model: models[i]!, mpsPercent, batchSize: batches[i]! }))
}

/** The fields of one row, by column name. */
class Fields {
  constructor(
    readonly row: number,
    readonly header: readonly string[],
    readonly record: readonly string[],
  ) {}

  error(column: Column, expected: string): TraceFormatError {
    return new TraceFormatError(this.row, column, this.text(column), expected)
  }

  /** Returns the text of a cell, or '' if the file has no such column. */
  text(column: Column): string {
    return this.record[this.header.indexOf(column)] ?? ''
  }

  number(column: Column, least: number): number {
    const value = toNumber(this.text(column))
    if (!(value >= least)) throw this.error(column, `a number of at least ${least}`)
    return value
  }

  optionalNumber(column: Column, least: number): number | null {
    return this.text(column) === '' ? null : this.number(column, least)
  }

  names(column: Column): string[] {
    const inner = this.text(column).replace(/^\[|\]$/g, '')
    return inner.trim() === '' ? [] : inner.split(',').map((name) => name.trim().replace(/^['"]|['"]$/g, ''))
  }

  numbers(column: Column): number[] {
    const values = this.names(column).map(toNumber)
    if (values.some(Number.isNaN)) throw this.error(column, 'a number or a list such as [25, 25]')
    return values
  }

  perTenant(column: Column, count: number): number[] {
    const values = this.numbers(column)
    if (values.length !== 0 && values.length !== count) throw this.error(column, `${count} values, one for each tenant`)
    if (values.some((value) => value < 0)) throw this.error(column, 'values of at least 0')
    return values
  }
}

/**
 * Returns NaN for anything but a plain decimal number. `Number` alone would read blanks as 0 and accept `0x10` and
 * `Infinity`.
 */
function toNumber(text: string): number {
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
}

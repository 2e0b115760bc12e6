import { InvalidInputError } from '@pctodl/platform'
import { type RequestTrace, traceOf } from './request-trace.js'
import { RequestTraceError, readNumber, TraceTable } from './trace-table.js'

/** Milliseconds in a unit of time. */
const units = { s: 1000, ms: 1, us: 1e-3, ns: 1e-6 } as const

export interface TimestampsOptions {
  /** Unit of the time stamps. Default `s`. */
  readonly unit?: keyof typeof units
}

/**
 * Reads plain time stamps, one per line, in any order. Empty lines and text after `#` are ignored.
 *
 * @throws RequestTraceError naming the line, InvalidInputError for an unknown unit
 */
export function parseTimestamps(text: string, { unit = 's' }: TimestampsOptions = {}): RequestTrace {
  if (!Object.hasOwn(units, unit)) throw new InvalidInputError('unit', unit, Object.keys(units).join(', '))
  const timesMs: number[] = []
  text.split('\n').forEach((line, i) => {
    const stamp = line.replace(/#.*/, '').trim()
    if (stamp === '') return
    const value = readNumber(stamp)
    if (!Number.isFinite(value)) throw new RequestTraceError(i + 1, 'time', stamp, `a time in ${unit}`)
    timesMs.push(value * units[unit])
  })
  if (timesMs.length === 0) throw new RequestTraceError(1, 'time', '', 'at least one time stamp')
  return traceOf(Float64Array.from(timesMs), null, null)
}

/** Rates over time, as input of `replayedRates`. */
export interface RateTrace {
  /** Start of each step and end of the last one, ms since the start of the first step. */
  readonly stepMs: Float64Array
  /** Requests/s in each step. */
  readonly ratesPerS: Float64Array
}

/**
 * Reads rates from a CSV file with the columns `time_s` and `rate_per_s`. Each rate applies until the next row; the
 * last row only marks the end.
 *
 * @throws RequestTraceError naming row and column
 */
export function parseRates(text: string): RateTrace {
  const table = new TraceTable(text)
  const seconds = table.numbers('time_s', 'seconds')
  const rates = table.numbers('rate_per_s', 'requests/s')
  if (table.rows < 2) throw new RequestTraceError(1, 'time_s', String(seconds[0]), 'a second row, which ends the first')
  for (let i = 0; i < table.rows; i++) {
    if (i > 0 && !(seconds[i]! > seconds[i - 1]!)) {
      throw new RequestTraceError(i + 1, 'time_s', String(seconds[i]), 'a later time than in the row before')
    }
    if (!(rates[i]! >= 0)) throw new RequestTraceError(i + 1, 'rate_per_s', String(rates[i]), 'a rate of at least 0')
  }
  return { stepMs: seconds.map((value) => 1000 * (value - seconds[0]!)), ratesPerS: rates.slice(0, -1) }
}

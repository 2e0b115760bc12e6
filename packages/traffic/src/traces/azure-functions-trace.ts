import { type RequestTrace, traceOf } from './request-trace.js'
import { RequestTraceError, TraceTable } from './trace-table.js'

/** Invocations of one function, minute by minute. */
export interface FunctionInvocations {
  readonly owner: string
  readonly app: string
  readonly function: string
  readonly trigger: string
  /**
   * Number of invocations in each minute of the day. Divided by 60, they are the `ratesPerS` of `replayedRates` with a
   * `stepMs` of 60,000.
   */
  readonly perMinute: Float64Array
}

/**
 * Reads Azure Functions 2019 (github.com/Azure/AzurePublicDataset, CC-BY-4.0), files
 * `invocations_per_function_md.anon.d*.csv`. Columns: `HashOwner`, `HashApp`, `HashFunction`, `Trigger`, and one for
 * each minute of the day, 1 to 1440.
 *
 * @throws RequestTraceError naming row and column
 */
export function parseAzureFunctionsMinutes(text: string): FunctionInvocations[] {
  const table = new TraceTable(text)
  const minutes = table.header.filter((column) => /^\d+$/.test(column)).sort((a, b) => Number(a) - Number(b))
  if (minutes.length === 0) throw new RequestTraceError(0, '1', table.header.join(','), 'a column for each minute')
  const [owner, app, name, trigger] = ['HashOwner', 'HashApp', 'HashFunction', 'Trigger'].map((c) => table.text(c))
  const columns = minutes.map((minute) => table.numbers(minute, 'a number of invocations'))
  return Array.from({ length: table.rows }, (_, i) => ({
    owner: owner!(i),
    app: app!(i),
    function: name!(i),
    trigger: trigger!(i),
    perMinute: Float64Array.from(columns, (column) => column[i]!),
  }))
}

export interface AzureFunctionsOptions {
  /** Hash of the app whose invocations are to be read. Default: all apps. */
  readonly app?: string
}

/**
 * Reads the Azure Functions invocation trace 2021. Columns: `app`, `func`, `end_timestamp` and `duration` in seconds.
 * The arrival time of an invocation is its start.
 *
 * @throws RequestTraceError naming row and column, or if no invocation remains
 */
export function parseAzureFunctionsTrace(text: string, { app }: AzureFunctionsOptions = {}): RequestTrace {
  const table = new TraceTable(text)
  const ends = table.numbers('end_timestamp', 'seconds')
  const durations = table.numbers('duration', 'seconds')
  const apps = table.text('app')
  const kept = Uint32Array.from(ends, (_, i) => i).filter((i) => app === undefined || apps(i) === app)
  if (kept.length === 0) throw new RequestTraceError(1, 'app', apps(0), `invocations of '${app}'`)
  return traceOf(
    Float64Array.from(kept, (i) => 1000 * (ends[i]! - durations[i]!)),
    null,
    null,
  )
}

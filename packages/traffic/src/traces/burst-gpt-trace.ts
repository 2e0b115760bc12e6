import { type RequestTrace, traceOf } from './request-trace.js'
import { RequestTraceError, TraceTable } from './trace-table.js'

export interface BurstGptOptions {
  /** Model whose requests are to be read, e.g. `GPT-4`. Default: all models. */
  readonly model?: string
  /** Whether to keep requests that were not answered (0 response tokens). Default true, because they did arrive. */
  readonly failures?: boolean
}

/**
 * Reads BurstGPT (github.com/HPMLL/BurstGPT, CC-BY-4.0). Columns: `Timestamp` in seconds, `Model`, `Request tokens`,
 * `Response tokens`.
 *
 * @throws RequestTraceError naming row and column, or if no request remains
 */
export function parseBurstGptTrace(text: string, { model, failures = true }: BurstGptOptions = {}): RequestTrace {
  const table = new TraceTable(text)
  const seconds = table.numbers('Timestamp', 'seconds')
  const prompts = table.numbers('Request tokens', 'a number of tokens')
  const answers = table.numbers('Response tokens', 'a number of tokens')
  const models = table.text('Model')
  const kept = Uint32Array.from(seconds, (_, i) => i).filter(
    (i) => (model === undefined || models(i) === model) && (failures || answers[i]! > 0),
  )
  if (kept.length === 0) throw new RequestTraceError(1, 'Model', models(0), `requests to '${model ?? 'any'}'`)
  const of = (column: Float64Array) => Float64Array.from(kept, (i) => column[i]!)
  return traceOf(
    of(seconds).map((value) => 1000 * value),
    of(prompts),
    of(answers),
  )
}

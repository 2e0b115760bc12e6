import { type RequestTrace, traceOf } from './request-trace.js'
import { TraceTable } from './trace-table.js'

/**
 * Reads Azure's LLM inference traces of 2023 and 2024 (github.com/Azure/AzurePublicDataset, CC-BY-4.0). Columns:
 * `TIMESTAMP`, `ContextTokens`, `GeneratedTokens`. Also reads extracts with seconds since the first request: `t_s`,
 * `prompt_tokens`, `output_tokens`.
 *
 * @param text of the CSV file
 * @throws RequestTraceError naming row and column
 */
export function parseAzureLlmTrace(text: string): RequestTrace {
  const table = new TraceTable(text)
  if (table.has('t_s')) {
    const seconds = table.numbers('t_s', 'seconds')
    return traceOf(
      seconds.map((value) => 1000 * value),
      table.numbers('prompt_tokens', 'a number of tokens'),
      table.numbers('output_tokens', 'a number of tokens'),
    )
  }
  return traceOf(
    table.numbers('TIMESTAMP', 'a time as 2023-11-16 18:15:46.6805900', readTimestamp),
    table.numbers('ContextTokens', 'a number of tokens'),
    table.numbers('GeneratedTokens', 'a number of tokens'),
  )
}

const timestamp = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(\.\d+)?(?:Z|([+-])(\d\d):?(\d\d))?$/

/**
 * Milliseconds since 1970, with all digits of the fraction. Without a time zone, the text is taken as UTC. NaN for
 * other formats.
 */
function readTimestamp(text: string): number {
  const match = timestamp.exec(text)
  if (!match) return Number.NaN
  const [, year, month, day, hour, minute, second, fraction = '0', sign, zoneHours = '0', zoneMinutes = '0'] = match
  const wholeMs = Date.UTC(+year!, +month! - 1, +day!, +hour!, +minute!, +second!)
  const zoneMs = 60_000 * (60 * +zoneHours + +zoneMinutes)
  return wholeMs + 1000 * Number(fraction) - (sign === '-' ? -zoneMs : zoneMs)
}

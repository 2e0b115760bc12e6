export {
  type AzureFunctionsOptions,
  type FunctionInvocations,
  parseAzureFunctionsMinutes,
  parseAzureFunctionsTrace,
} from './traces/azure-functions-trace.js'
export { parseAzureLlmTrace } from './traces/azure-llm-trace.js'
export { type BurstGptOptions, parseBurstGptTrace } from './traces/burst-gpt-trace.js'
export { parseRates, parseTimestamps, type RateTrace, type TimestampsOptions } from './traces/plain-trace.js'
export type { RequestTrace } from './traces/request-trace.js'
export { RequestTraceError } from './traces/trace-table.js'

export { parseAzureLlmTrace } from './traces/azure-llm-trace.js'
export { parseBurstGptTrace } from './traces/burst-gpt-trace.js'
export { RequestTraceError } from './traces/trace-table.js'

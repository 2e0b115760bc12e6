import { golden } from '@pctodl/reference-data'
import { arrivalTimes, replayedTimes, thinned } from '@pctodl/traffic'
import { parseAzureLlmTrace, parseBurstGptTrace, RequestTraceError } from '@pctodl/traffic/traces'
import { describe, expect, it } from 'vitest'

describe('Azure LLM inference', () => {
  it('reads time stamps with all their digits, across a midnight and in any zone', () => {
    const trace = parseAzureLlmTrace(
      'TIMESTAMP,ContextTokens,GeneratedTokens\n' +
        '2023-11-16 23:59:59.9805900,374,44\n' +
        '2023-11-17 00:00:00.0310900,396,109\n' +
        '2023-11-17 01:00:00.000+01:00,1,2\n',
    )
    expect(Array.from(trace.timesMs, (timeMs) => Number(timeMs.toFixed(3)))).toEqual([0, 19.41, 50.5])
    expect(trace.promptTokens).toEqual(Float64Array.of(374, 1, 396))
    expect(trace.outputTokens).toEqual(Float64Array.of(44, 2, 109))
  })

  it.each(['conv', 'code'])('replays ten recorded minutes, %s', (service) => {
    const trace = parseAzureLlmTrace(golden(`measured/arrivals_azure_llm_${service}.csv`))
    const replay = replayedTimes(trace.timesMs)
    expect([...arrivalTimes(replay)]).toEqual(Array.from(trace.timesMs))
    expect(trace.timesMs.at(-1)).toBeGreaterThan(500_000)
    expect(trace.timesMs.at(-1)).toBeLessThanOrEqual(600_000)
    expect(replay.meanRatePerS).toBeCloseTo((1000 * trace.timesMs.length) / trace.timesMs.at(-1)!, 1)
    const half = [...arrivalTimes(thinned(replay, 0.5))].length / trace.timesMs.length
    expect(half).toBeGreaterThan(0.45)
    expect(half).toBeLessThan(0.55)
  })
})

describe('BurstGPT', () => {
  const text =
    'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n' +
    '5,ChatGPT,472,18,490,Conversation log\n' +
    '45,GPT-4,1087,0,1087,"API log"\n' +
    '118,ChatGPT,417,276,693,Conversation log\n'

  it('reads all requests, or those of a model, with or without those that failed', () => {
    expect(parseBurstGptTrace(text).timesMs).toEqual(Float64Array.of(0, 40_000, 113_000))
    expect(parseBurstGptTrace(text, { model: 'ChatGPT' }).outputTokens).toEqual(Float64Array.of(18, 276))
    expect(parseBurstGptTrace(text, { failures: false }).promptTokens).toEqual(Float64Array.of(472, 417))
    expect(() => parseBurstGptTrace(text, { model: 'GPT-5' })).toThrow("requests to 'GPT-5'")
  })
})

it.each<[string, () => unknown]>([
  ["header, column 'TIMESTAMP'", () => parseAzureLlmTrace('a,b\n1,2\n')],
  [
    "row 2, column 'TIMESTAMP'",
    () => parseAzureLlmTrace('TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,1\nyesterday,1,1\n'),
  ],
  ["row 1, column 'output_tokens'", () => parseAzureLlmTrace('t_s,prompt_tokens,output_tokens\n0,1,\n')],
  ["row 1, column '*'", () => parseBurstGptTrace('Timestamp,Model\n')],
  ["header, column '*'", () => parseBurstGptTrace('Timestamp,"Model\n1')],
])('refuses what is no such trace, naming %s', (where, read) => {
  expect(read).toThrow(RequestTraceError)
  expect(read).toThrow(where)
})

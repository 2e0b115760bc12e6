import { tmpdir } from 'node:os'
import { physicsOfBoard } from '@pctodl/gpu-sim'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { attachProcess } from '../src/attached-process.js'
import { LlmEngine } from '../src/llm-engine.js'
import { serveLlm } from '../src/llm-server.js'
import { SimulatedHost } from '../src/simulated-host.js'
import { cacheFolder, missingCompiler } from './built-host.js'

const messages = [{ role: 'user' as const, content: 'How much does this board draw?' }]
const promptTokens = 8

describe.skipIf(missingCompiler)(`a stand-in for vLLM${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: SimulatedHost
  let engine: LlmEngine
  let server: Awaited<ReturnType<typeof serveLlm>>
  let client: OpenAI

  beforeAll(async () => {
    const physics = physicsOfBoard('A100')
    const process = { ...physics.process, startMs: 10, loadGBs: 1000 }
    const options = { board: 'A100', cacheFolder, programsFolder: tmpdir() }
    host = await SimulatedHost.start({ ...options, physics: { ...physics, process } })
    const name = 'llm'
    engine = await LlmEngine.start(1e9, (given) => attachProcess(host.environment, { name, ...given, stepwise: true }))
    server = await serveLlm(engine, 'tiny', 0)
    client = new OpenAI({ baseURL: server.url, apiKey: 'none', maxRetries: 0 })
  })
  afterAll(() => {
    server?.close()
    engine?.close()
    host?.close()
  })

  const metrics = async () => {
    const text = await (await fetch(new URL('/metrics', server.url))).text()
    const value = (name: string) => Number(text.match(new RegExp(`^${name.replace(/[{}+]/g, '\\$&')} (.*)$`, 'm'))?.[1])
    const plain = (name: string) => value(`vllm:${name}{model_name="tiny"}`)
    return { text, value, plain }
  }

  it('answers the unmodified OpenAI client, says that it is simulated, and counts tokens', async () => {
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['tiny'])
    const { data, response } = await client.chat.completions
      .create({ model: 'tiny', messages, max_tokens: 12 })
      .withResponse()
    expect(response.headers.get('simulated')).toBe('true')
    expect(data.usage).toEqual({ prompt_tokens: promptTokens, completion_tokens: 12, total_tokens: promptTokens + 12 })
    expect(data.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: ' token'.repeat(12) } })
  })

  it('streams a token a step of the board, to many at a time, with histograms as those of vLLM', async () => {
    const before = await metrics()
    const stream = async () => {
      const chunks = await client.chat.completions.create({
        ...{ model: 'tiny', messages, max_completion_tokens: 20, stream: true },
        stream_options: { include_usage: true },
      })
      let [text, usage] = ['', undefined as OpenAI.CompletionUsage | undefined]
      for await (const chunk of chunks) {
        text += chunk.choices[0]?.delta.content ?? ''
        usage = chunk.usage ?? usage
      }
      return { text, tokens: usage?.total_tokens }
    }
    const begun = host.gpus[0]!.truth().energyJ
    const answers = await Promise.all(Array.from({ length: 8 }, stream))
    expect(answers).toEqual(Array(8).fill({ text: ' token'.repeat(20), tokens: promptTokens + 20 }))
    expect(host.gpus[0]!.truth().energyJ).toBeGreaterThan(begun)
    const { plain, value, text } = await metrics()
    expect(plain('generation_tokens_total') - before.plain('generation_tokens_total')).toBe(160)
    expect(plain('prompt_tokens_total') - before.plain('prompt_tokens_total')).toBe(8 * promptTokens)
    expect(plain('time_to_first_token_seconds_count') - before.plain('time_to_first_token_seconds_count')).toBe(8)
    expect(plain('inter_token_latency_seconds_count') - before.plain('inter_token_latency_seconds_count')).toBe(152)
    expect(plain('num_requests_running')).toBe(0)
    const buckets = [...text.matchAll(/^vllm:e2e_request_latency_seconds_bucket\{.*le="(.*)"\} (\d+)$/gm)]
    expect(buckets.map(([, bound]) => bound)).toEqual(
      '0.3 0.5 0.8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680 +Inf'.split(' '),
    )
    const counts = buckets.map(([, , count]) => Number(count))
    expect(counts).toEqual(counts.toSorted((a, b) => a - b))
    expect(counts.at(-1)).toBe(plain('e2e_request_latency_seconds_count'))
    expect(value('vllm:request_success_total{model_name="tiny",finished_reason="length"}')).toBe(9)
    // A model of a gigaparameter reads two gigabytes a step: no token comes sooner than the memory allows.
    const perToken = plain('inter_token_latency_seconds_sum') / plain('inter_token_latency_seconds_count')
    expect(perToken).toBeGreaterThan(2e9 / 1555e9)
  })

  it('gives up the sequences of who has gone', async () => {
    const chunks = await client.chat.completions.create({ model: 'tiny', messages, max_tokens: 30_000, stream: true })
    for await (const _ of chunks) break
    const aborted = 'vllm:request_success_total{model_name="tiny",finished_reason="abort"}'
    await expect.poll(async () => (await metrics()).value(aborted)).toBe(1)
    expect((await metrics()).plain('num_requests_running')).toBe(0)
  })

  it('refuses what it cannot answer', async () => {
    const ask = (fields: object) => client.chat.completions.create({ model: 'tiny', messages, ...fields })
    await expect(ask({ model: 'other' })).rejects.toMatchObject({ status: 404 })
    await expect(ask({ messages: [] })).rejects.toMatchObject({ status: 400 })
    await expect(ask({ max_tokens: 1e9 })).rejects.toMatchObject({ status: 400 })
    await expect(ask({ messages: [{ role: 'user', content: 'x'.repeat(2e6) }] })).rejects.toMatchObject({ status: 413 })
    expect(await fetch(`${server.url}/nothing`)).toMatchObject({ status: 404 })
  })

  it('says what ended it: a model too large for the board, at its first step', async () => {
    const large = await LlmEngine.start(40e9, (given) =>
      attachProcess(host.environment, { name: 'large', ...given, stepwise: true }),
    )
    await expect(large.warmUp()).rejects.toThrow(/^CUDA error 2: out of memory/)
    const onFailure = vi.fn()
    large.add({ promptTokens: 1, maxTokens: 1, onToken() {}, onFailure })
    expect(await large.ended).toMatch(/^CUDA error 2/)
    expect(onFailure).toHaveBeenCalledOnce()
  })

  it('drops its connections when the host ends', async () => {
    const chunks = await client.chat.completions.create({ model: 'tiny', messages, max_tokens: 30_000, stream: true })
    host.close()
    await expect(
      (async () => {
        for await (const _ of chunks);
      })(),
    ).rejects.toThrow()
    expect(await engine.ended).toBe('the simulated host closed the connection')
  })
})

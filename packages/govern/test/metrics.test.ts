import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { parseConfig, type TritonService } from '../src/config.js'
import { Endpoint } from '../src/endpoint.js'
import { readHistograms, readTriton, vllmNames } from '../src/index.js'
import { type LatencyKind, since } from '../src/metrics/histograms.js'
import { endpointState, type ServiceSample } from '../src/metrics/service-sample.js'
import { readTritonLimits } from '../src/metrics/triton.js'
import { pageReader } from '../src/page-reader.js'
import { TritonStandIn } from './triton-stand-in.js'

const triton = `# HELP nv_inference_pending_request_count Instantaneous number of pending requests
nv_inference_pending_request_count{model="a",version="1"} 2
nv_inference_pending_request_count{model="a",version="2"} 1
nv_inference_pending_request_count{model="b",version="1"} 7
not a line
`
const version = (requests: number, failed: number, batches: object[]) => {
  const [success, queue] = [2e6, 5e5].map((ns) => ({ count: requests, ns: ns * requests }))
  return { inference_stats: { success, fail: { count: failed, ns: 0 }, queue }, batch_stats: batches }
}
const stats = {
  model_stats: [
    version(30, 1, [{ batch_size: 4, compute_infer: { count: 5, ns: 20_000_000 } }]),
    version(12, 1, [{ batch_size: 4, compute_infer: { count: 1, ns: 4_000_000 } }]),
  ],
}
const vllm = (name: string) => `vllm:${name}_bucket{le="0.3",model_name="m"} 90
vllm:${name}_bucket{le="0.5",model_name="m"} 97
vllm:${name}_bucket{le="+Inf",model_name="m"} 100
vllm:${name}_sum{model_name="m"} 25.5
vllm:${name}_count{model_name="m"} 100
`

const readVllm = (text: string, objectiveMs: number, kind: LatencyKind) =>
  readHistograms(text, vllmNames('m', kind), objectiveMs)
const named = (histogram: string) => {
  return { whole: histogram, judged: [histogram] }
}

describe('metrics', () => {
  it('are read from Triton, versions summed', () => {
    expect(readTriton('a', triton, stats)).toEqual({
      completed: 42,
      failed: 2,
      queued: 3,
      running: 0,
      latencyMs: 84,
      waitMs: 21,
      batches: [{ size: 4, count: 6, ms: 24 }],
    })
    expect(readTriton('c', triton, stats)).toBeNull()
    expect(readTriton('a', triton, { model_stats: [] })).toBeNull()
    const wrong = { model_stats: [version(1, 0, [{ batch_size: 'x' }])] }
    expect(() => readTriton('a', triton, wrong)).toThrow('batch_size')
  })

  it('go on when the nanoseconds of many requests exceed the safe integers', () => {
    const first = version(30, 1, [])
    first.inference_stats.success = { count: 30, ns: 9.1e15 }
    expect(readTriton('a', triton, { model_stats: [first] })!.latencyMs).toBeCloseTo(9.1e9, -3)
  })

  it('are read from what the Triton of PyTriton 0.7.0 answered', () => {
    const text = 'nv_inference_pending_request_count{model="vgg19",version="1"} 0\n'
    const stats =
      '{"model_stats":[{"name":"vgg19","version":"1","last_inference":1795760832814,"inference_count":95,"execution_count":83,"inference_stats":{"success":{"count":95,"ns":10131874305},"fail":{"count":0,"ns":0},"queue":{"count":95,"ns":1866876075},"compute_input":{"count":95,"ns":4217665},"compute_infer":{"count":95,"ns":8212148748},"compute_output":{"count":95,"ns":47960195},"cache_hit":{"count":0,"ns":0},"cache_miss":{"count":0,"ns":0}},"response_stats":{},"batch_stats":[{"batch_size":1,"compute_input":{"count":74,"ns":3060605},"compute_infer":{"count":74,"ns":4966962916},"compute_output":{"count":74,"ns":37041992}},{"batch_size":2,"compute_input":{"count":6,"ns":253867},"compute_infer":{"count":6,"ns":790503211},"compute_output":{"count":6,"ns":3766824}},{"batch_size":3,"compute_input":{"count":3,"ns":216442},"compute_infer":{"count":3,"ns":554726470},"compute_output":{"count":3,"ns":1128185}}]}]}'
    expect(readTriton('vgg19', text, JSON.parse(stats))).toMatchObject({
      completed: 95,
      failed: 0,
      queued: 0,
      latencyMs: 10131.874305,
      waitMs: 1866.876075,
      batches: [
        { size: 1, count: 74, ms: 4966.962916 },
        { size: 2, count: 6, ms: 790.503211 },
        { size: 3, count: 3, ms: 554.72647 },
      ],
    })
  })

  it('tell how Triton batches', () => {
    const config = {
      max_batch_size: 8,
      dynamic_batching: { max_queue_delay_microseconds: '2000' },
      instance_group: [{ count: 2 }, { count: 1 }],
    }
    expect(readTritonLimits(config)).toEqual({ maxBatchSize: 8, maxQueueDelayMs: 2, instances: 3 })
    expect(readTritonLimits({})).toEqual({ maxBatchSize: 1, maxQueueDelayMs: 0, instances: 1 })
  })

  it('are exact for vLLM at the bucket bound below the objective', () => {
    const text = vllm('e2e_request_latency_seconds') + vllm('inter_token_latency_seconds')
    const sample = readVllm(`${text}vllm:num_requests_waiting{model_name="m"} 4\n`, 480, 'e2e')
    expect(sample).toMatchObject({
      completed: 100,
      late: 10,
      queued: 4,
      objectiveMs: 300,
      judged: { counts: [90, 97, 100], sumMs: 25_500 },
    })
    expect(readVllm(text, 500, 'e2e')).toMatchObject({ late: 3, objectiveMs: 500 })
    expect(() => readVllm(text, 100, 'e2e')).toThrow('no bucket of its histogram lies within 100 ms')
    expect(readVllm(text, 500, 'ttft')).toBeNull()
  })

  it('are taken by name from others', () => {
    const names = { ...named('time'), running: 'now', labels: { app: 'x\\y"z' } }
    const line = (name: string, value: number, more = '') => `${name}{app="x\\\\y\\"z"${more}} ${value} 1700000000\n`
    const text =
      line('time_bucket', 4, ',le="0.1"') +
      line('time_bucket', 5, ',le="+Inf"') +
      line('time_sum', 0.5) +
      line('time_count', 5) +
      line('now', 2)
    expect(readHistograms(`${text}now{app="other"} 9\n`, names, 150)).toMatchObject({
      completed: 5,
      late: 1,
      running: 2,
      objectiveMs: 100,
    })
    expect(readHistograms(text, named('time'), 150)).toMatchObject({ completed: 5, running: 0 })
    expect(readHistograms('', names, 150)).toBeNull()
  })

  it.each(['-1', '1e308', 'NaN', '+Inf', 'x'])('leave out what no counter says: %s', (value) => {
    const pending = 'nv_inference_pending_request_count{model="a"'
    expect(readTriton('a', `${pending}} ${value}\n`, stats)).toBeNull()
    const text = `${pending},version="1"} 4\n${pending},version="2"} ${value}\n`
    expect(readTriton('a', text, stats)).toMatchObject({ queued: 4 })
  })

  it('are read behind labels with braces and quotes, and before exemplars', () => {
    const text = `t_bucket{path="a}b\\"{",le="+Inf"} 7 # {trace="x"} 0.5\nt_sum{path="a}b\\"{"} 1\nt_count{path="a}b\\"{"} 7\nt_bucket{path="a}b\\"{",le="0.1"} 3 1700000000\n`
    expect(readHistograms(text, { ...named('t'), labels: { path: 'a}b"{' } }, 150)).toMatchObject({
      completed: 7,
      late: 4,
    })
  })

  it('are refused where buckets are none', () => {
    const lines = (...counts: number[]) =>
      `${['0.1', '0.2', '+Inf'].map((le, i) => `t_bucket{le="${le}"} ${counts[i]}\n`).join('')}t_sum 1\nt_count 9\n`
    expect(readHistograms(lines(3, 2, 9), named('t'), 150)).toBeNull()
    expect(readHistograms(lines(1, 2, 9).replace('+Inf', 'much'), named('t'), 150)).toBeNull()
    const [before, after] = [lines(3, 4, 9), lines(2, 4, 9)].map((text) => readHistograms(text, named('t'), 150)!)
    expect(since(before!.judged!, before!.judged!)).toMatchObject({ counts: [0, 0, 0], sumMs: 0 })
    expect(since(before!.judged!, after!.judged!)).toBeNull()
  })

  it.each([{ max_batch_size: 2e9 }, { max_batch_size: -1 }, { instance_group: [{ count: 1e9 }] }])(
    'refuse limits that are none: %j',
    (config) => {
      expect(() => readTritonLimits(config)).toThrow()
    },
  )

  it('tell the states of a server apart', () => {
    const at = (completed: number, queued = 0): ServiceSample => {
      return { completed, failed: 0, queued, running: 0, latencyMs: completed }
    }
    expect(endpointState(at(1), at(2), false)).toBe('serving')
    expect(endpointState(at(2), at(2), false)).toBe('idle')
    expect(endpointState(at(2), at(2, 1), false)).toBe('serving')
    expect(endpointState(at(2), null, true)).toBe('draining')
    expect(endpointState(at(2), null, false)).toBe('gone')
    expect(endpointState(at(2), at(1), false)).toBe('reset')
  })
})

describe('a server', () => {
  it.each(['stats', 'config'])('that hides its %s is refused with endpoint, cause and remedy', async (what) => {
    const triton = new TritonStandIn()
    triton.hidden = what
    await triton.start()
    const config = triton.service('a')
    const message = `a: ${triton.url}/v2/models/m/${what} answers 403, access is restricted; allow it from this host; for Triton, leave statistics and model-config out of --http-restricted-api`
    await expect(Endpoint.open(config, pageReader(1000), 0)).rejects.toThrow(message)
    triton.hidden = ''
    const { goal } = await Endpoint.open(config, pageReader(1000), 0)
    expect(goal).toMatchObject({ objectiveMs: 60, limits: { maxBatchSize: 8 } })
    await triton.stop()
  })

  it('that does not count waiting requests is refused with cause and remedy', async () => {
    const triton = new TritonStandIn()
    triton.counted = 'other'
    await triton.start()
    const config = triton.service('a')
    const message = `a: ${config.stats} has no model m, or ${config.metrics} no nv_inference_pending_request_count of it; correct metrics or model in the configuration`
    await expect(Endpoint.open(config, pageReader(1000), 0)).rejects.toThrow(message)
    await triton.stop()
  })

  it('is asked once in a round for metrics that its models share', async () => {
    const triton = new TritonStandIn()
    await triton.start()
    const first = pageReader(1000)
    const endpoints = await Promise.all(['a', 'b'].map((name) => Endpoint.open(triton.service(name), first, 0)))
    for (const round of [1, 2, 3]) {
      const get = pageReader(1000)
      await Promise.all(endpoints.map((endpoint) => endpoint.scrape(get, () => 1000 * round)))
      expect(triton.asked('/metrics')).toBe(1 + round)
    }
    for (const { state } of endpoints) expect(state).not.toBe('gone')
    await triton.stop()
  })

  it('drains if it refuses all but its metrics', async () => {
    const triton = new TritonStandIn()
    await triton.start()
    const endpoint = await Endpoint.open(triton.service('a'), pageReader(1000), 0)
    triton.drains = true
    const message = await endpoint.scrape(pageReader(1000), () => 1000)
    expect(message).toBe('a: draining (socket hang up)')
    expect(endpoint.isAway(1000)).toBe(false)
    expect(endpoint.isAway(3000)).toBe(true)
    await triton.stop()
    expect(await endpoint.scrape(pageReader(1000), () => 4000)).toMatch(/^a: gone /)
    await triton.start()
    await endpoint.scrape(pageReader(1000), () => 5000)
    expect(endpoint.state, 'while it starts').toBe('gone')
    await triton.stop()
  })

  it('whose end waits for open connections waits for none of these for long', async () => {
    const triton = new TritonStandIn()
    await triton.start()
    const endpoint = await Endpoint.open(triton.service('a'), pageReader(1000), 0)
    const first = [...triton.sockets]
    await new Promise((resolve) => setTimeout(resolve, 2100))
    await endpoint.scrape(pageReader(1000), () => 1000)
    await expect.poll(() => first.every(({ destroyed }) => destroyed)).toBe(true)
    expect(endpoint.state).not.toBe('gone')
    await triton.stop()
  })

  it('does not answer with a page without end', async () => {
    const line = 'x'.repeat(2 ** 20)
    const server = createServer((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(line));
      }
      response.on('drain', more)
      more()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    await expect(pageReader(60_000)(`http://127.0.0.1:${port}`)).rejects.toThrow(
      'answers more than 16777216 characters',
    )
    server.close()
  })
})

describe('the configuration', () => {
  const service = "{name: a, triton: 'http://h:8000', model: m, objective: {ms: 60}}"

  it('has defaults', () => {
    expect(parseConfig(`services: [${service}]`, 'f')).toEqual({
      gpu: 0,
      intervalMs: 250,
      services: [
        {
          name: 'a',
          triton: 'http://h:8000',
          metrics: 'http://h:8002/metrics',
          limits: 'http://h:8000/v2/models/m/config',
          stats: 'http://h:8000/v2/models/m/stats',
          model: 'm',
          objective: { ms: 60, attainment: 0.99 },
        },
      ],
    })
  })

  it('asks a server of several services once for the statistics of all', () => {
    const { services } = parseConfig(
      `services: [${service}, ${service.replace('name: a', 'name: b').replace('m,', 'n,')}]`,
      'f',
    )
    for (const { model, stats } of services as TritonService[])
      expect({ model, stats }).toEqual({ model, stats: 'http://h:8000/v2/models/stats' })
  })

  it('takes addresses as clients know them', () => {
    const vllm = "{name: b, vllm: 'http://h:1/v1/', model: m, objective: {ms: 60}}"
    const { services } = parseConfig(`services: [${service.replace('8000', '8000/')}, ${vllm}]`, 'f')
    expect(services).toMatchObject([
      { triton: 'http://h:8000' },
      { metrics: 'http://h:1/metrics', series: vllmNames('m', 'e2e') },
    ])
  })

  it.each([
    ['services: []', 'f: services: got [], expected at least one service'],
    [`services: [${service.replace('60', '-1')}]`, 'f: services.0.objective.ms: got -1, expected milliseconds above 0'],
    [
      `services: [${service.replace('http:', 'ftp:')}]`,
      'f: services.0.triton: got "ftp://h:8000", expected an http(s) URL',
    ],
    [`services: [${service.replace('triton', 'server')}]`, 'expected one of the keys triton, vllm, prometheus'],
    [`services: [${service}, ${service}]`, 'expected services of different names'],
    ['services: {', 'write YAML as in the README'],
    [`gpus: 0\nservices: [${service}]`, 'f: the whole: there is no key gpus'],
    [`gpu: [0, 1]\nservices: [${service}]`, 'f: gpu: got [0,1], expected one board'],
    [`services: [${service.replace('ms: 60', 'ms: 60, p99: 5')}]`, 'f: services.0.objective: there is no key p99'],
    ['{}', 'f: services: got nothing, expected array'],
  ])('is refused by field, value and remedy: %s', (text, message) => {
    expect(() => parseConfig(text, 'f')).toThrow(message)
  })
})

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { SeededRandom } from '@pctodl/numerics'
import { findGpuSpec, PctodlError, type Telemetry } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../src/config.js'
import { Endpoint } from '../src/endpoint.js'
import { GovernLaw, readHistograms, readTriton } from '../src/index.js'
import { since } from '../src/metrics/histograms.js'
import type { ServiceSample } from '../src/metrics/service-sample.js'
import { readTritonLimits } from '../src/metrics/triton.js'
import { pageReader } from '../src/page-reader.js'
import { TritonStandIn } from './triton-stand-in.js'

/** CPU time of a call, ms. */
function cpuMs(call: () => unknown): number {
  const before = process.cpuUsage()
  call()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Numbers in an object that are no finite number, by path. */
function brokenNumbers(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [`${path}: ${value}`]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) => brokenNumbers(each, `${path}.${key}`))
}

describe('a hostile configuration', () => {
  const triton = "{name: a, triton: 'http://h:8000', model: m, objective: {ms: 60}}"
  const vllm = "{name: b, vllm: 'http://h:8001', model: m, objective: {ms: 60}}"
  const mapped = "{name: c, prometheus: 'http://h/m', series: {histogram: t}, objective: {ms: 60}}"
  const of = (service: string) => `services: [${service}]`
  const refused: readonly (readonly [string, string])[] = [
    ['', 'the whole: got null'],
    ['~', 'the whole: got null'],
    ['[]', 'the whole: got []'],
    ['services', 'the whole: got "services"'],
    ['{services: ', 'YAML'],
    ['\tservices: []', 'YAML'],
    [`${of(triton)}\n${of(vllm)}`, 'unique'],
    [of(triton.replace('model: m', 'model: m, model: n')), 'unique'],
    [`${of(triton)}\n---\n${of(vllm)}`, 'multiple documents'],
    ['services: *missing', 'missing'],
    ['services: &a [*a]', 'circular'],
    ['services: &a [{name: *a}]', 'circular'],
    [
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'.replace(/./g, (each) => `${each}: &${each} [${'*X,'.repeat(9).replaceAll('X', String.fromCharCode(each.charCodeAt(0) - 1))}]\n`)}services: []`,
      'alias',
    ],
    ['services: {}', 'services: got {}, expected array'],
    ['services: null', 'services: got null'],
    ['services: [null]', 'services.0: got null'],
    ['services: [[]]', 'services.0: got []'],
    ['services: [1]', 'services.0: got 1'],
    [of('{}'), 'services.0: got {}, expected one of the keys triton, vllm, prometheus'],
    [`gpu: -1\n${of(triton)}`, 'gpu: got -1'],
    [`gpu: 1.5\n${of(triton)}`, 'gpu: got 1.5'],
    [`gpu: .nan\n${of(triton)}`, 'gpu: got'],
    [`gpu: null\n${of(triton)}`, 'gpu: got null'],
    [`gpu: ''\n${of(triton)}`, 'gpu: got ""'],
    [`powerCapW: 0\n${of(triton)}`, 'powerCapW: got 0, expected watts above 0'],
    [`powerCapW: -5\n${of(triton)}`, 'powerCapW: got -5'],
    [`powerCapW: .inf\n${of(triton)}`, 'powerCapW: got'],
    [`powerCapW: 250 W\n${of(triton)}`, 'powerCapW: got "250 W"'],
    [`intervalMs: 10\n${of(triton)}`, 'intervalMs: got 10, expected at least 100'],
    [`intervalMs: 1e9\n${of(triton)}`, 'intervalMs: got 1000000000'],
    [`intervalMs: 250.5\n${of(triton)}`, 'intervalMs: got 250.5'],
    [`intervalMs: '250'\n${of(triton)}`, 'intervalMs: got "250"'],
    [`__proto__: {}\n${of(triton)}`, 'there is no key __proto__'],
    [`? [a, b]\n: 1\n${of(triton)}`, 'there is no key'],
    [of(triton.replace('60', '.nan')), 'services.0.objective.ms: got'],
    [of(triton.replace('60', '.inf')), 'services.0.objective.ms: got'],
    [of(triton.replace('60', '60ms')), 'services.0.objective.ms: got "60ms"'],
    [of(triton.replace('60', '0')), 'services.0.objective.ms: got 0'],
    [of(triton.replace('{ms: 60}', '60')), 'services.0.objective: got 60'],
    [
      of(triton.replace('60', '60, attainment: 99')),
      'services.0.objective.attainment: got 99, expected a share below 1',
    ],
    [
      of(triton.replace('60', '60, attainment: 0.5')),
      'services.0.objective.attainment: got 0.5, expected a share above',
    ],
    [of(triton.replace('60', '60, attainment: 1')), 'services.0.objective.attainment: got 1'],
    [of(triton.replace('60', '60, of: e2e')), 'services.0.objective: there is no key of'],
    [of(vllm.replace('60', '60, of: p99')), 'services.0.objective.of: got "p99"'],
    [of(triton.replace('http://h:8000', 'h:8000')), 'services.0.triton: got "h:8000", expected an http(s) URL'],
    [of(triton.replace('http://h:8000', 'http://')), 'services.0.triton: got "http://"'],
    [of(triton.replace('http://h:8000', 'http://h:99999')), 'services.0.triton: got "http://h:99999"'],
    [of(triton.replace('http://h:8000', 'file:///etc/passwd')), 'services.0.triton: got'],
    [of(triton.replace("'http://h:8000'", '8000')), 'services.0.triton: got 8000'],
    [of(triton.replace('http://h:8000', 'http://h:8000?a=b')), 'services.0.triton: got "http://h:8000?a=b"'],
    [of(triton.replace('http://h:8000', 'http://h:8000#a')), 'services.0.triton: got "http://h:8000#a"'],
    [of(triton.replace('model: m', 'model: 7')), 'services.0.model: got 7, expected the name of the model'],
    [of(triton.replace('model: m', "model: ''")), 'services.0.model: got ""'],
    [of(triton.replace('name: a', 'name: "a b"')), 'services.0.name: got "a b"'],
    [of(triton.replace('name: a', 'name: "a\\nb"')), 'services.0.name: got "a\\nb"'],
    [of(triton.replace('name: a', `name: ${'x'.repeat(100_000)}`)), 'services.0.name: got "xxx'],
    [of(triton.replace('name: a', 'name: {b: c}')), 'services.0.name: got {"b":"c"}'],
    [of(triton.replace('name: a, ', '')), 'services.0.name: got nothing'],
    [of(triton.replace('model: m', "model: m, vllm: 'http://h'")), 'services.0: there is no key vllm'],
    [of(mapped.replace('{histogram: t}', 't')), 'services.0.series: got "t"'],
    [of(mapped.replace('histogram: t', 'summary: t')), 'services.0.series.histogram: got nothing'],
    [of(mapped.replace('histogram: t', "histogram: ''")), 'services.0.series.histogram: got ""'],
    [of(mapped.replace('histogram: t', 'histogram: t, labels: {a: 1}')), 'services.0.series.labels.a: got 1'],
    [of(mapped.replace('histogram: t', 'histogram: t, inFlight: 5')), 'services.0.series.inFlight: got 5'],
    [`services: [${[triton, vllm, triton].join()}]`, 'expected services of different names'],
  ]

  it.each(refused)('is refused by file, field, value and remedy: %.60s', (text, message) => {
    let error: unknown
    expect(
      cpuMs(() => {
        try {
          parseConfig(text, 'f.yaml')
        } catch (caught) {
          error = caught
        }
      }),
    ).toBeLessThan(1000)
    expect(error).toBeInstanceOf(PctodlError)
    const said = (error as Error).message
    expect(said).toContain(message)
    expect(said).toMatch(/^f\.yaml: /)
    expect(said.includes('\n')).toBe(false)
    expect(said.length).toBeLessThan(300)
  })

  it.each([
    [
      'anchors',
      `x: &o {ms: 60}`.replace('x: ', 'services: [{name: a, vllm: "http://h", model: m, objective: ') +
        '}, {name: b, vllm: "http://h", model: m, objective: *o}]',
    ],
    [
      'two objectives of one server',
      `services: [${vllm}, ${vllm.replace('name: b', 'name: c').replace('60', '60, of: ttft')}]`,
    ],
    ['JSON', '{"services": [{"name": "a", "triton": "http://[::1]:8000", "model": "m", "objective": {"ms": 0.001}}]}'],
    ['CRLF and a byte order mark', `\uFEFFgpu: 0\r\n${of(triton)}\r\n`],
  ])('may have %s', (_, text) => {
    expect(parseConfig(text, 'f.yaml').services.length).toBeGreaterThan(0)
  })
})

describe('a hostile page of metrics', () => {
  const names = { whole: 't', judged: ['t'], queued: 'w', running: 'r', labels: { model: 'm' } }
  const bucket = (le: string, value: string, more = '') => `t_bucket{model="m",le="${le}"${more}} ${value}\n`
  const sums = 't_sum{model="m"} 5\nt_count{model="m"} 100\n'
  const good = `${bucket('0.1', '90')}${bucket('0.2', '95')}${bucket('+Inf', '100')}${sums}w{model="m"} 3\nr{model="m"} 2\n`
  const long = 2 ** 20
  const cases: readonly (readonly [string, string, object | null])[] = [
    ['nothing', '', null],
    ['HTML', '<html><body>404</body></html>', null],
    ['only comments', '# TYPE t histogram\n'.repeat(1000), null],
    ['NUL bytes', '\0'.repeat(1000), null],
    ['a bucket of NaN', good.replace('} 95', '} NaN'), { late: 10 }],
    ['a bucket of +Inf', good.replace('} 95', '} +Inf'), { late: 10 }],
    ['a negative bucket', good.replace('} 95', '} -95'), { late: 10 }],
    ['a bucket of 1e400', good.replace('} 95', '} 1e400'), { late: 10 }],
    ['a total of NaN', good.replace('} 100\nt_sum', '} NaN\nt_sum'), null],
    ['a sum of NaN', good.replace('} 5', '} NaN'), null],
    ['a negative sum', good.replace('} 5', '} -5'), null],
    ['no sum', good.replace('t_sum', 'u_sum'), null],
    ['no last bucket', good.replace('+Inf', '0.4'), null],
    ['no buckets', sums, null],
    [
      'buckets out of order',
      `${bucket('+Inf', '100')}${bucket('0.2', '95')}${bucket('0.1', '90')}${sums}`,
      { late: 5, objectiveMs: 200 },
    ],
    ['buckets that fall', good.replace('} 95', '} 9'), null],
    ['a bound that is no number', `${bucket('x', '7')}${good}`, { late: 5 }],
    ['a bound of NaN', `${bucket('NaN', '7')}${good}`, { late: 5 }],
    ['a bound of -Inf', `${bucket('-Inf', '0')}${good}`, { late: 5 }],
    ['a bound without quotes', `t_bucket{model="m",le=0.15} 7\n${good}`, { late: 5 }],
    ['no trailing newline', good.trimEnd(), { late: 5, running: 2 }],
    ['CRLF', good.replaceAll('\n', '\r\n'), { late: 5, running: 2 }],
    ['a byte order mark', `\uFEFF${good}`, { objectiveMs: 200 }],
    ['tabs and spaces', good.replaceAll('} ', '}  \t'), { late: 5 }],
    ['spaces between labels', good.replaceAll('",', '" , '), { late: 5 }],
    [
      'spaces wherever the format allows them',
      good
        .replace(/^(\w+)\{/gm, '\t $1 \t{\t')
        .replaceAll('=', ' =\t')
        .replaceAll('}', ' } '),
      { completed: 100, late: 5, queued: 3, running: 2 },
    ],
    ['names after spaces', `${`${' '.repeat(1000)}t_bucket`.repeat(long / 1000)}\n${good}`, { late: 5 }],
    ['a trailing comma in labels', good.replaceAll('"} ', '",} '), { late: 5 }],
    ['no value', good.replace('} 3', '}'), { late: 5, queued: 0 }],
    ['text for a value', good.replace('} 3', '} three'), { queued: 0 }],
    ['a gauge of NaN', good.replace('} 3', '} NaN'), { queued: 0 }],
    ['a negative gauge', good.replace('} 3', '} -3'), { queued: 0 }],
    ['timestamps', good.replace(/(\d)\n/g, '$1 1700000000000\n'), { late: 5 }],
    ['exemplars', good.replace(/(\d)\n/g, '$1 # {trace_id="x\\"}"} 0.1 1.7\n'), { late: 5 }],
    ['unclosed labels', `t_bucket{model="m",le="0.15" 7\n${good}`, { completed: 100 }],
    ['an unclosed quote', `t_bucket{model="m\n${good}`, { late: 5 }],
    ['another model', good.replaceAll('"m"', '"n"'), null],
    [
      'a name that begins alike',
      `t_bucket_total{model="m",le="0.15"} 7\nt_sums{model="m"} 3\n${good}`,
      { late: 5, latencyMs: 5000 },
    ],
    [
      'series of two engines',
      good + good.replaceAll('model="m"', 'model="m",engine="1"'),
      { completed: 200, late: 10, queued: 6 },
    ],
    ['a giant label', `t_bucket{model="m",x="${'y'.repeat(long)}",le="0.15"} 92\n${good}`, { late: 5 }],
    [
      'a giant label of escapes',
      `t_bucket{model="m",x="${'\\"'.repeat(long / 2)}",le="0.15"} 92\n${good}`,
      { late: 5 },
    ],
    ['a giant label name', `t_bucket{${'y'.repeat(long)}} 7\n${good}`, { late: 5 }],
    ['a giant run of commas', `t_bucket{${','.repeat(long)}} 7\n${good}`, { late: 5 }],
    ['a giant run of spaces', `t_bucket{${' '.repeat(long)}} 7\n${good}`, { late: 5 }],
    ['a giant run of quotes', `t_bucket{${'"'.repeat(long)}} 7\n${good}`, { late: 5 }],
    ['a giant run of labels', `t_bucket{${'a="b",'.repeat(long / 6)}} 7\n${good}`, { late: 5 }],
    ['a giant value', `t_bucket{model="m",le="0.15"} ${'7'.repeat(long)}\n${good}`, { late: 5 }],
    ['names without lines', `${'t_bucket{'.repeat(long / 9)}\n${good}`, { late: 5 }],
    ['lines without values', `${'t_bucket{\n'.repeat(long / 20)}${good}`, { late: 5 }],
    [
      'many series',
      `${Array.from({ length: 50_000 }, (_, i) => `t_bucket{model="n${i}",le="0.1"} 1\n`).join('')}${good}`,
      { late: 5 },
    ],
    [
      'labels that are properties of objects',
      good.replaceAll('model=', '__proto__="x",constructor="y",model='),
      { late: 5 },
    ],
  ]

  it.each(cases)('has %s', (_, text, expected) => {
    let sample: unknown
    expect(
      cpuMs(() => {
        sample = readHistograms(text, names, 250)
      }),
    ).toBeLessThan(2500)
    if (expected === null) expect(sample).toBeNull()
    else expect(sample).toMatchObject(expected)
    if (sample !== null) (sample as { judged: { boundsMs: number[] } }).judged.boundsMs.pop()
    expect(brokenNumbers(sample).filter((each) => !each.includes('-Infinity'))).toEqual([])
  })

  it('has quoted names of metrics and labels', () => {
    const quoted = good.replaceAll('model="m"', '"my.model"="m"').replace(/^(\w+)\{/gm, '{"http.$1",')
    const mapped = { whole: 'http.t', judged: ['http.t'], running: 'http.r', labels: { 'my.model': 'm' } }
    expect(readHistograms(quoted, mapped, 250)).toMatchObject({ completed: 100, late: 5, running: 2, objectiveMs: 200 })
    const spaced = quoted.replaceAll('{"', ' { "').replaceAll('",', '" , ').replaceAll('"}', '" }')
    expect(readHistograms(spaced, mapped, 250)).toMatchObject({ completed: 100, late: 5, running: 2, objectiveMs: 200 })
    expect(readHistograms(quoted.replaceAll('"my.model"=', '"my\\"model"='), mapped, 250)).toBeNull()
  })

  it('has a bucket without a bound, which is skipped', () => {
    const page = `${bucket('', '9')}${bucket('0.1', '1')}${bucket('+Inf', '2')}${sums}`
    expect(readHistograms(page, names, 250)!.judged.counts).toEqual([1, 2])
  })

  it('has buckets whose counts contradict each other over time', () => {
    const read = (...counts: number[]) => {
      const [a, b, c] = counts.map(String)
      return readHistograms(`${bucket('0.1', a!)}${bucket('0.2', b!)}${bucket('+Inf', c!)}${sums}`, names, 250)!.judged
    }
    expect(since(read(10, 20, 30), read(30, 31, 32))).toBeNull()
    expect(since(read(10, 20, 30), read(11, 22, 33))).not.toBeNull()
  })
})

describe('hostile statistics of Triton', () => {
  const pending = 'nv_inference_pending_request_count{model="a"} 0\n'
  const stats = (inference: object, batches: unknown = []) => {
    return { model_stats: [{ name: 'a', inference_stats: inference, batch_stats: batches }] }
  }
  const none = { success: {}, fail: {}, queue: {} }
  it.each([
    ['nothing', null],
    ['a list', []],
    ['text', 'x'],
    ['an error', { error: 'no such model' }],
    ['models that are none', { model_stats: 'x' }],
    ['a model that is null', { model_stats: [null] }],
    ['no inference statistics', { model_stats: [{ name: 'a' }] }],
    ['a negative count', stats({ ...none, success: { count: -1 } })],
    ['a count that is text', stats({ ...none, success: { count: '5' } })],
    ['an infinite count', stats({ ...none, success: { count: Number.POSITIVE_INFINITY } })],
    ['negative time', stats({ ...none, success: { ns: -1 } })],
    ['batches of 0', stats(none, [{ batch_size: 0, compute_infer: {} }])],
    ['batches of 1e9', stats(none, [{ batch_size: 1e9, compute_infer: {} }])],
    ['half batches', stats(none, [{ batch_size: 1.5, compute_infer: {} }])],
    ['batches that are none', stats(none, {})],
    ['batches without times', stats(none, [{ batch_size: 1 }])],
  ])('are refused: %s', (_, body) => {
    expect(() => readTriton('a', pending, body)).toThrow()
  })

  it('may have other models, which do not count', () => {
    const { model_stats: others } = stats({ ...none, success: { count: 5, ns: 1e9 } })
    const both = { model_stats: [...others, { ...others[0], name: 'b' }] }
    expect(readTriton('a', pending, both)).toMatchObject({ completed: 5 })
    expect(readTriton('a', pending, { model_stats: [{ ...others[0], name: 'b' }] })).toBeNull()
  })

  it.each([
    ['nothing', null],
    ['text', 'x'],
    ['a batch size that is text', { max_batch_size: '8' }],
    ['a delay that is text', { dynamic_batching: { max_queue_delay_microseconds: 'x' } }],
    ['a negative delay', { dynamic_batching: { max_queue_delay_microseconds: '-1' } }],
    ['groups that are none', { instance_group: {} }],
    ['a group of 1.5', { instance_group: [{ count: 1.5 }] }],
  ])('have limits that are refused: %s', (_, body) => {
    expect(() => readTritonLimits(body)).toThrow()
  })
})

describe('a hostile server', () => {
  const body = 't_bucket{le="0.1"} 1\nt_bucket{le="+Inf"} 1\nt_sum 1\nt_count 1\n'
  const head = (more = '') => `HTTP/1.1 200 OK\r\n${more}\r\n`
  const config = (metrics: string) => {
    return { name: 'a', metrics, objective: { ms: 150, attainment: 0.99 }, series: { whole: 't', judged: ['t'] } }
  }
  /** Answers the first request as a good server would, and each further one by `answer`. */
  const withServer = async (
    answer: (socket: Socket) => void,
    use: (endpoint: Endpoint, url: string) => Promise<void>,
  ) => {
    let requests = 0
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('data', () => {
        if (requests++ === 0) socket.end(`${head('Connection: close\r\n')}${body}`)
        else answer(socket)
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/m`
    try {
      await use(await Endpoint.open(config(url), pageReader(1000), 0), url)
    } finally {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
  }
  const drip = (socket: Socket, text: string, first = '') => {
    socket.write(first)
    const timer = setInterval(() => socket.write(text), 20)
    socket.on('close', () => clearInterval(timer))
  }
  const faults: readonly (readonly [string, (socket: Socket) => void, RegExp])[] = [
    ['closes without an answer', (socket) => socket.end(), /hang up|ECONNRESET/],
    ['resets', (socket) => socket.resetAndDestroy(), /ECONNRESET|hang up/],
    [
      'resets within its head',
      (socket) => socket.write('HTTP/1.1 20', () => socket.resetAndDestroy()),
      /ECONNRESET|hang up|Parse/,
    ],
    [
      'resets within its body',
      (socket) => socket.write(head('Content-Length: 999\r\n') + body, () => socket.resetAndDestroy()),
      /aborted|ECONNRESET/,
    ],
    ['ends before its length', (socket) => socket.end(head('Content-Length: 999\r\n') + body), /aborted/],
    ['ends within a chunk', (socket) => socket.end(`${head('Transfer-Encoding: chunked\r\n')}ff\r\nt_sum`), /aborted/],
    [
      'has a chunk of no size',
      (socket) => socket.end(`${head('Transfer-Encoding: chunked\r\n')}zz\r\n`),
      /Parse Error/,
    ],
    ['speaks no HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'), /Parse Error/],
    ['speaks TLS', (socket) => socket.end(Buffer.from([0x15, 3, 1, 0, 2, 2, 80])), /Parse Error/],
    ['has headers without end', (socket) => drip(socket, `X: ${'y'.repeat(9000)}\r\n`), /Parse Error|Overflow/],
    ['has a head of many MiB', (socket) => socket.write(`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(2 ** 22)}`), /Parse Error/],
    ['never answers', () => {}, /did not answer within 300 ms/],
    ['drips its head', (socket) => drip(socket, 'X'), /did not answer within 300 ms|Parse/],
    ['drips its body', (socket) => drip(socket, 'x', head('Content-Length: 9999\r\n')), /did not answer within 300 ms/],
    [
      'announces forever that it continues',
      (socket) => drip(socket, 'HTTP/1.1 100 Continue\r\n\r\n'),
      /did not answer within 300 ms/,
    ],
    [
      'redirects',
      (socket) => socket.end('HTTP/1.1 302 Found\r\nLocation: http://other/m\r\nContent-Length: 0\r\n\r\n'),
      /answers 302.*http:\/\/other\/m/,
    ],
    ['answers 204', (socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'), /answers 204/],
    ['answers 500', (socket) => socket.end('HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n'), /answers 500/],
    [
      'answers 503 with a page',
      (socket) => socket.end(`HTTP/1.1 503 x\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
      /answers 503/,
    ],
    [
      'wants a password',
      (socket) => socket.end('HTTP/1.1 401 x\r\nContent-Length: 0\r\n\r\n'),
      /answers 401, access is restricted; allow it/,
    ],
    [
      'compresses',
      (socket) => socket.end(`${head('Content-Encoding: gzip\r\nConnection: close\r\n')}\u001f\u008b`),
      /answers with Content-Encoding gzip; turn compression off/,
    ],
    ['has an empty page', (socket) => socket.end(head('Content-Length: 0\r\n')), /has no histogram t/],
    [
      'has another histogram',
      (socket) => socket.end(head('Connection: close\r\n') + body.replaceAll('t_', 'u_')),
      /has no histogram t/,
    ],
    [
      'has no bucket within the objective',
      (socket) => socket.end(head('Connection: close\r\n') + body.replace('0.1', '9')),
      /no bucket.*150 ms.*9000 ms/,
    ],
  ]

  it.each(faults)('%s: it counts as gone, with the reason', async (_, answer, reason) => {
    await withServer(answer, async (endpoint, url) => {
      const startMs = performance.now()
      const message = await endpoint.scrape(pageReader(300), () => 5000)
      // Some of these servers never end; a busy machine may take seconds.
      expect(performance.now() - startMs).toBeLessThan(20_000)
      expect(message).toMatch(/^a: gone \(.*\)$/)
      expect(message).toMatch(reason)
      if (!/hang up|no bucket|reset|Parse|aborted|ECONNRESET/i.test(message!))
        expect(message).toContain(`${url}`.slice(7, 16))
      expect(endpoint.isAway(5000)).toBe(true)
    })
  })

  it.each([
    ['HTML', '<html>'],
    ['nothing', ''],
    ['a number', '5'],
    [
      'a count of text',
      '{"model_stats":[{"name":"m","inference_stats":{"success":{"count":"x"},"fail":{},"queue":{}}}]}',
    ],
    ['no such model', '{"model_stats":[]}'],
  ])('whose statistics are %s counts as gone, with the address and the reason', async (_, text) => {
    const triton = new TritonStandIn()
    await triton.start()
    const endpoint = await Endpoint.open(triton.service('a'), pageReader(1000), 0)
    const get = pageReader(1000)
    const message = await endpoint.scrape(
      (url) => (url.endsWith('/stats') ? Promise.resolve(text) : get(url)),
      () => 5000,
    )
    expect(message).toMatch(/^a: gone \(http.*\/stats.*\)$/)
    expect(message!.length).toBeLessThan(300)
    await triton.stop()
  })
})

describe('a server that restarts', () => {
  it('with other batch limits is governed with these', async () => {
    const triton = new TritonStandIn()
    await triton.start()
    const endpoint = await Endpoint.open(triton.service('a'), pageReader(1000), 0)
    const scrape = () => endpoint.scrape(pageReader(1000), () => 5000)
    await new Promise((resolve) => setTimeout(resolve, 50))
    await scrape()
    const { goal } = endpoint
    await scrape()
    expect(endpoint.goal).toBe(goal)
    await triton.stop()
    triton.maxBatchSize = 32
    await triton.start()
    // The connection that was kept open is gone first.
    for (let i = 0; i < 5; i++) await scrape()
    expect(endpoint.goal).toEqual({ ...goal, limits: { ...goal.limits, maxBatchSize: 32 } })
    await triton.stop()
  })

  it('while it was not asked is governed with the limits that it has then', async () => {
    const triton = new TritonStandIn()
    await triton.start()
    const endpoint = await Endpoint.open(triton.service('a'), pageReader(1000), 0)
    const scrape = () => endpoint.scrape(pageReader(1000), () => 5000)
    await scrape()
    await triton.stop()
    await scrape()
    expect(endpoint.state).toBe('gone')
    triton.maxBatchSize = 32
    await triton.start()
    await new Promise((resolve) => setTimeout(resolve, 100))
    for (let i = 0; i < 5; i++) await scrape()
    expect(endpoint.goal.limits).toMatchObject({ maxBatchSize: 32 })
    await triton.stop()
  })
})

describe('a server that restarts before its first request', () => {
  it('is governed with its new batch limits within a minute', async () => {
    const triton = new TritonStandIn()
    triton.ratePerS = 0
    await triton.start()
    const endpoint = await Endpoint.open(triton.service('a'), pageReader(1000), 0)
    triton.maxBatchSize = 32
    await endpoint.scrape(pageReader(1000), () => 1000)
    expect(endpoint.goal.limits).toMatchObject({ maxBatchSize: 8 })
    await endpoint.scrape(pageReader(1000), () => 60_000)
    expect(endpoint.goal.limits).toMatchObject({ maxBatchSize: 32 })
    await triton.stop()
  })

  it('is governed on while only its limits cannot be read', async () => {
    const triton = new TritonStandIn()
    await triton.start()
    const endpoint = await Endpoint.open(triton.service('a'), pageReader(1000), 0)
    triton.hidden = 'config'
    expect(await endpoint.scrape(pageReader(1000), () => 60_000)).toBeNull()
    expect(endpoint.sampleMs).toBe(60_000)
    expect(await endpoint.scrape(pageReader(1000), () => 61_000)).toBeNull()
    expect(triton.asked('/v2/models/m/config')).toBe(2)
    await triton.stop()
  })
})

describe('the law under hostile numbers', () => {
  const spec = findGpuSpec('A100')
  const limits = { maxBatchSize: 8, maxQueueDelayMs: 1, instances: 1 }
  const boundsMs = [50, 100, 250, Number.POSITIVE_INFINITY]
  const large = [0, 0, 1, 3, 1e-9, 1e6, 1e12, Number.MAX_SAFE_INTEGER]

  /** Steps of a law, each with samples that a broken server could report after any others. */
  const run = (seed: number, kind: 'triton' | 'histogram') => {
    const random = new SeededRandom(seed)
    const any = () => large[Math.floor(large.length * random.uniform())]!
    const maybe = <T>(value: T, share = 0.1): T | null => (random.uniform() < share ? null : value)
    const goal = { name: 'a', objectiveMs: 100, attainment: 0.99, limits: kind === 'triton' ? limits : null }
    const law = new GovernLaw({ spec, services: [goal, { ...goal, name: 'b' }], powerCapW: 200 })
    const problems: string[] = []
    let count = 0
    let smClockMhz: number | null = null
    const sample = (): ServiceSample => {
      const wild = random.uniform() < 0.15
      count += 1 + Math.floor(50 * random.uniform())
      const number = (value: number) => (wild && random.uniform() < 0.5 ? any() : value)
      const sums = {
        completed: number(count),
        failed: number(0),
        queued: number(2),
        running: number(1),
        latencyMs: number(30 * count),
      }
      if (kind === 'triton') {
        const batches = [1, 4, 8].map((size) => ({
          size,
          count: number(Math.floor(count / 3 / size)),
          ms: number((count / 3) * 4),
        }))
        return { ...sums, waitMs: number(5 * count), batches: wild ? batches.slice(1) : batches } as ServiceSample
      }
      const counts = [0.7, 0.9, 0.99, 1].map((share) => number(Math.floor(share * count))).sort((a, b) => a - b)
      const judged = {
        boundsMs: wild && random.uniform() < 0.3 ? boundsMs.slice(1) : boundsMs,
        counts,
        sumMs: number(30 * count),
      }
      if (judged.boundsMs.length === 3) judged.counts.shift()
      const late = judged.counts.at(-1)! - judged.counts.at(-3)!
      return { ...sums, late, judged, objectiveMs: 100 } as ServiceSample
    }
    for (let i = 0; i < 150; i++) {
      const power = {
        powerInstantW: maybe(150),
        powerAverageW: maybe(150),
        energyJ: maybe(random.uniform() < 0.02 ? 0 : 40 * i),
      }
      const load = {
        smUtilPercent: maybe(random.uniform() < 0.05 ? 0 : 60),
        memUtilPercent: 5,
        temperatureC: maybe(50),
      }
      const ran = random.uniform() < 0.03 ? 0 : (smClockMhz ?? 1410)
      const clock = { smClockMhz: maybe(ran), memClockMhz: maybe(1215), clocksEventReasons: new Set() }
      const telemetry = {
        timeMs: 250 * (i - (random.uniform() < 0.02 ? 1 : 0)),
        memoryUsedBytes: 1,
        ...power,
        ...load,
        ...clock,
      }
      const samples = [maybe(sample(), 0.05), maybe(sample(), 0.05)]
      const decision = law.step(samples, telemetry as unknown as Telemetry)
      smClockMhz = decision.smClockMhz
      if (smClockMhz !== null && !spec.clockStates[0]!.smClocksMhz.includes(smClockMhz))
        problems.push(`clock ${smClockMhz}`)
      const seen = law.services.map(({ lateShare, rate, work, aimedLate }) => ({
        lateShare,
        perS: rate.perS,
        work,
        aimedLate,
      }))
      const predictedW = smClockMhz === null ? 0 : law.predictW(smClockMhz)
      problems.push(...brokenNumbers({ seen, predictedW, joules: law.power.joules }, `step ${i}`))
      for (const service of law.services) {
        if (service.lateShare < 0 || service.lateShare > 1) problems.push(`step ${i}: late share ${service.lateShare}`)
        if (service.work.busy < 0 || service.work.full < 0)
          problems.push(`step ${i}: work ${JSON.stringify(service.work)}`)
        const attained = service.known ? service.attainmentAt(1410, 10) : 0
        if (Number.isNaN(attained)) problems.push(`step ${i}: attainment ${attained}`)
      }
      if (problems.length > 0) return problems
    }
    return problems
  }

  const seeds = Array.from({ length: 20 }, (_, seed) => seed)
  it.each(seeds)('chooses a clock of the board from Triton, and reports only numbers: seed %i', (seed) => {
    expect(run(seed, 'triton')).toEqual([])
  })
  it.each(seeds)('chooses a clock of the board from histograms, and reports only numbers: seed %i', (seed) => {
    expect(run(seed, 'histogram')).toEqual([])
  })

  it.each([
    ['the largest batch', { ...limits, maxBatchSize: 65_536 }],
    ['many instances', { ...limits, instances: 1000 }],
  ])('decides within the interval with %s', (_, wide) => {
    const law = new GovernLaw({ spec, services: [{ name: 'a', objectiveMs: 100, attainment: 0.99, limits: wide }] })
    const step = (i: number) => {
      const sums = { completed: 50 * i, failed: 0, queued: 0, running: 0, latencyMs: 1000 * i, waitMs: 10 * i }
      const sample = { ...sums, batches: [{ size: 2, count: 25 * i, ms: 500 * i }] }
      const telemetry = {
        timeMs: 250 * i,
        smClockMhz: 1410,
        energyJ: 20 * i,
        powerAverageW: 80,
        smUtilPercent: 50,
        clocksEventReasons: new Set(),
      }
      law.step([sample], telemetry as unknown as Telemetry)
    }
    for (let i = 0; i < 10; i++) step(i)
    expect(cpuMs(() => step(10))).toBeLessThan(250)
  })
})

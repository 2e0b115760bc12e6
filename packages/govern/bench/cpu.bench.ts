/**
 * CPU time of `pctodl govern`, in percent of a core, with servers whose pages are as long as those of real ones.
 *
 *   pnpm --filter @pctodl/govern bench [--seconds 40] [--rounds 1] [--interval 250] [--govern other.ts]
 *
 * The board and the servers are stand-ins in other processes. `--govern` names another entry to compare with, in turn.
 */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { mean } from '@pctodl/numerics'
import { buildPrograms, everything, type Node, startNode } from '../../node-service/test/node-host.js'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '1' },
    interval: { type: 'string', default: '250' },
    govern: { type: 'string', multiple: true, default: [] },
  },
})
/** Until the code is compiled. */
const WARM_S = 60
/** Clock ticks of `/proc` per second. */
const TICKS_PER_S = 100
const own = path.join(import.meta.dirname, '..', 'test', 'fixtures', 'govern.ts')
const entries = Object.fromEntries(
  [own, ...values.govern.map((file) => path.resolve(file))].map((file, i) => [`govern-${i}`, file]),
)
const startMs = performance.now()
const requests = () => Math.floor((performance.now() - startMs) / 20)

function tritonModel(name: string): object {
  const count = requests()
  const total = (ms: number) => ({ count, ns: ms * 1e6 * count })
  const compute = { compute_input: total(0.1), compute_infer: total(4), compute_output: total(0.1) }
  const batches = Array.from({ length: 8 }, (_, i) => {
    const part = { count: Math.floor(count / 8), ns: Math.floor(count / 8) * (3 + i) * 1e6 }
    return { batch_size: i + 1, compute_input: part, compute_infer: part, compute_output: part }
  })
  const none = { count: 0, ns: 0 }
  const inference = { success: total(8), fail: none, queue: total(3), ...compute, cache_hit: none, cache_miss: none }
  const counts = { last_inference: Date.now(), inference_count: count, execution_count: count }
  return { name, version: '1', ...counts, inference_stats: inference, batch_stats: batches, memory_usage: [] }
}

function tritonMetrics(models: readonly string[]): string {
  const names =
    'request_success request_failure count exec_count request_duration_us queue_duration_us compute_input_duration_us compute_infer_duration_us compute_output_duration_us cache_num_hits pending_request_count'
  return names
    .split(' ')
    .flatMap((name) => [
      `# HELP nv_inference_${name} What Triton says of this metric, in about as many words as here`,
      `# TYPE nv_inference_${name} counter`,
      ...models.map(
        (model) => `nv_inference_${name}{model="${model}",version="1"} ${name.startsWith('pending') ? 0 : requests()}`,
      ),
    ])
    .join('\n')
}

const vllmHistograms =
  'e2e_request_latency time_to_first_token inter_token_latency request_time_per_output_token request_queue_time request_inference_time request_prefill_time request_decode_time'
const boundsS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80]
function vllmMetrics(): string {
  const count = requests()
  const labels = 'engine="0",model_name="m"'
  const histograms = vllmHistograms.split(' ').flatMap((name) => {
    const full = `vllm:${name}_seconds`
    const buckets = [...boundsS, '+Inf'].map(
      (le, i) => `${full}_bucket{${labels},le="${le}"} ${Math.floor(count * (1 - 0.6 ** i))}`,
    )
    buckets.push(buckets.pop()!.replace(/\d+$/, `${count}`))
    return [
      `# HELP ${full} Histogram of this latency in seconds.`,
      `# TYPE ${full} histogram`,
      ...buckets,
      `${full}_sum{${labels}} ${count * 0.3}`,
      `${full}_count{${labels}} ${count}`,
    ]
  })
  const gauges = ['running', 'waiting'].map((name) => `vllm:num_requests_${name}{${labels}} 2`)
  return [...gauges, ...histograms].join('\n')
}

function answer(url: string): string {
  if (url === '/llm/metrics') return vllmMetrics()
  const models = url.includes('/two') ? ['m', 'n'] : ['m']
  if (url.endsWith('/metrics')) return tritonMetrics(models)
  if (url.endsWith('/config')) return '{"max_batch_size": 8, "dynamic_batching": {}, "instance_group": [{"count": 1}]}'
  if (!url.endsWith('/stats')) return ''
  return JSON.stringify({ model_stats: models.map(tritonModel) })
}

async function serve(): Promise<{ server: Server; url: string }> {
  const server = createServer(({ url }, response) => response.end(answer(url!)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** @returns CPU time over time */
async function share(node: Node, file: string, services: readonly string[]): Promise<number> {
  const config = path.join(node.folder, 'govern.yaml')
  writeFileSync(config, `intervalMs: ${values.interval}\nservices: [${services.join()}]\n`)
  const words = ['--config', config, '--log', path.join(node.folder, 'log'), '--library', node.libraryPath]
  const env = { ...process.env, PCTODL_SERVICE_SOCKET: node.options.socket }
  const child = spawn(process.execPath, [file, ...words], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const seconds = Number(values.seconds)
  const cpuS = () => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S
  }
  const wait = (s: number) => new Promise((resolve) => setTimeout(resolve, 1000 * s))
  await wait(WARM_S)
  const before = cpuS()
  await wait(seconds)
  const used = cpuS() - before
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
  return used / seconds
}

const node = await startNode({
  privilege: 'root',
  tenants: [{ gpuIndex: 0, model: 'resnet50', mpsPercent: 100, batchSize: 8 }],
})
node.allow(everything([process.getuid!()]))
const programs = await buildPrograms(entries)
const { socket, policyFile, stateFolder, mpsFolder, libraryPath } = node.options
const places = ['--socket', socket!, '--policy', policyFile!, '--state', stateFolder!, '--mps', mpsFolder!]
const service = spawn(
  process.execPath,
  [programs.file('pctodld'), 'serve', ...places, '--library', libraryPath!, '--http', 'none'],
  { env: process.env, stdio: 'ignore' },
)
const { server, url } = await serve()
try {
  await new Promise((resolve) => setTimeout(resolve, 2000))
  const triton = (base: string, model: string) =>
    `{name: ${model}, triton: '${url}/${base}', metrics: '${url}/${base}/metrics', model: ${model}, objective: {ms: 60}}`
  const cases = {
    vLLM: [`{name: chat, vllm: '${url}/llm', model: m, objective: {ms: 5000}}`],
    Triton: [triton('one', 'm')],
    'two models of Triton': [triton('two', 'm'), triton('two', 'n')],
  }
  const rows: Record<string, string | number>[] = []
  for (const [name, services] of Object.entries(cases)) {
    const shares: number[][] = Object.keys(entries).map(() => [])
    for (let round = 0; round < Number(values.rounds); round++)
      for (const [i, key] of Object.keys(entries).entries())
        shares[i]!.push(await share(node, programs.file(key), services))
    for (const [i, of] of shares.entries())
      rows.push({
        servers: name,
        entry: i,
        '% of a core': (100 * mean(of)).toFixed(2),
        rounds: of.map((each) => (100 * each).toFixed(2)).join(' '),
      })
    console.info(rows.at(-1))
  }
  console.table(rows)
} finally {
  server.close()
  server.closeAllConnections()
  service.kill('SIGTERM')
  programs.remove()
  await node.stop()
}

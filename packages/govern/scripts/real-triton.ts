/**
 * Governs a real Triton on a simulated board in real time, and compares it with the same requests in virtual time.
 *
 *   pnpm --filter @pctodl/govern real-triton --python python3 [--seconds 600] [--seeds 5] [--seed 1] [--alone]
 *
 * The Python needs `nvidia-pytriton==0.7.0`. A run is void if the client sends too late, because the machine is busy.
 * With `--alone`, no governor runs: "of alone" then compares the real server with the virtual one.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { quantile, SeededRandom, seedFrom } from '@pctodl/numerics'
import {
  diurnalArrivals,
  during,
  gammaArrivals,
  markovModulatedArrivals,
  poissonArrivals,
  superposed,
} from '@pctodl/traffic'
import { buildPrograms, eventually, everything, startNode } from '../../node-service/test/node-host.js'
import { judgeTrial, type Trial } from '../test/virtual-trials.js'

const { values } = parseArgs({
  options: {
    python: { type: 'string', default: 'python3' },
    seconds: { type: 'string', default: '600' },
    seeds: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    alone: { type: 'boolean', default: false },
  },
})
/** Requests are large, so that latencies are long beside what a busy machine adds. */
const [board, model, items, maxBatchSize] = ['3080Ti', 'vgg19', 48, 512]
const [fullPerS, fullMs] = [18.5, 574]
const WARM_S = 10
const MAX_SEND_LATE = 0.05
const kinds = ['steady', 'day', 'steps', 'bursts', 'over-dispersed'] as const

function draw(seed: number, seconds: number): Trial {
  const random = new SeededRandom(seedFrom('real triton', seed))
  const within = (low: number, high: number) => low + (high - low) * random.uniform()
  const kind = kinds[seed % kinds.length]!
  const ratePerS = within(0.15, 0.45) * fullPerS
  const [phase, from] = [within(0, 1), within(0.15, 0.6)]
  const periodMs = 1000 * seconds
  const process = {
    steady: () => poissonArrivals({ ratePerS }),
    'over-dispersed': () => gammaArrivals({ ratePerS, burstiness: within(2, 6) }),
    day: () => diurnalArrivals({ meanRatePerS: ratePerS, swing: 0.8, periodMs, peakMs: periodMs * phase }),
    steps: () =>
      superposed([
        poissonArrivals({ ratePerS: 0.7 * ratePerS }),
        during(poissonArrivals({ ratePerS }), { fromMs: from * periodMs, toMs: (from + 0.25) * periodMs }),
      ]),
    bursts: () =>
      markovModulatedArrivals({
        states: [
          { ratePerS: 0.6 * ratePerS, meanDwellMs: 40_000 },
          { ratePerS: 2 * ratePerS, meanDwellMs: 15_000 },
        ],
      }),
  }[kind]()
  const objective = { p99Ms: Math.round(within(3, 8) * fullMs) }
  const service = { name: `${model}-0`, model, objective, weight: 1, maxBatchSize, maxQueueDelayMs: 1 }
  return { board, kind, seed, loads: [{ service, items, arrivals: () => process.start(seed) }], seconds }
}

/** @returns joules of the board since it began, without the error of its sensors */
async function joulesOf(folder: string): Promise<number> {
  const socket = createConnection(path.join(folder, 'control.sock'))
  socket.write('{"kind":"boards"}\n')
  for await (const line of createInterface(socket)) {
    socket.destroy()
    return JSON.parse(line).boards[0].truth.energyJ
  }
  throw new Error('the simulated host does not answer')
}

async function govern({ loads, seconds, seed }: Trial) {
  const [{ service, arrivals }] = loads as [Trial['loads'][number]]
  const objectiveMs = service.objective.p99Ms
  const node = await startNode({ board, privilege: 'root' })
  node.allow(everything([process.getuid!()]))
  const programs = await buildPrograms({
    govern: path.join(import.meta.dirname, '..', 'test', 'fixtures', 'govern.ts'),
  })
  const children: ChildProcess[] = []
  const start = (program: string, words: readonly string[], output: 'ignore' | 'pipe', more = {}) => {
    const env = { ...process.env, ...more, PCTODL_SERVICE_SOCKET: node.options.socket }
    const child = spawn(program, words, { env, stdio: [output === 'pipe' ? 'pipe' : 'ignore', output, 'inherit'] })
    children.push(child)
    return child
  }
  const port = 21_000 + (process.pid % 4000) * 3
  try {
    const serve = path.join(import.meta.dirname, '..', '..', 'sim-host', 'examples', 'triton', 'serve.py')
    start(values.python, [serve, model, String(port)], 'ignore', { LD_PRELOAD: 'libnvidia-ml.so.1' })
    const isReady = () => fetch(`http://127.0.0.1:${port}/v2/models/${model}/ready`).then(({ ok }) => ok)
    await eventually(() => isReady().catch(() => false), 'Triton serves')
    const { socket, policyFile, stateFolder, mpsFolder, libraryPath } = node.options
    const places = ['--socket', socket!, '--policy', policyFile!, '--state', stateFolder!, '--mps', mpsFolder!]
    start(
      process.execPath,
      [programs.file('pctodld'), 'serve', ...places, '--library', libraryPath!, '--http', 'none'],
      'ignore',
    )
    await eventually(() => existsSync(socket!), 'the node service listens')
    const config = path.join(node.folder, 'govern.yaml')
    const server = `triton: 'http://127.0.0.1:${port}', metrics: 'http://127.0.0.1:${port + 2}/metrics'`
    writeFileSync(config, `services: [{name: m, ${server}, model: ${model}, objective: {ms: ${objectiveMs}}}]\n`)
    const log = path.join(node.folder, 'log')
    const words = ['--config', config, '--log', log, '--library', libraryPath!]
    if (!values.alone) start(process.execPath, [programs.file('govern'), ...words], 'ignore')
    const times: number[] = []
    const drawn = arrivals()
    for (let ms = drawn.nextMs(); ms < 1000 * (WARM_S + seconds); ms = drawn.nextMs()) times.push(ms / 1000)
    const client = start(
      values.python,
      [path.join(import.meta.dirname, 'open-loop.py'), `127.0.0.1:${port + 1}`, model, String(items)],
      'pipe',
    )
    client.stdin!.end(times.join('\n'))
    const lines: string[] = []
    const isClosed = once(
      createInterface(client.stdout!).on('line', (line) => lines.push(line)),
      'close',
    )
    await eventually(() => lines.length > 0, 'the client is ready')
    const wait = (s: number) => new Promise((resolve) => setTimeout(resolve, 1000 * s))
    await wait(WARM_S)
    const before = await joulesOf(node.environment['PCTODL_GPU_SIM_FOLDER']!)
    await wait(seconds)
    const joules = (await joulesOf(node.environment['PCTODL_GPU_SIM_FOLDER']!)) - before
    await isClosed
    const replies = lines.slice(1).map((line) => line.split(' ').map((each) => 1000 * Number(each)))
    const judged = replies.filter((_, i) => times[i]! >= WARM_S)
    const within = judged.filter(([, latencyMs]) => latencyMs! <= objectiveMs).length
    const sendLateMs = quantile(
      replies.map(([late]) => late!),
      0.99,
    )
    return { seed, objectiveMs, joules, requests: judged.length, attainment: within / judged.length, sendLateMs }
  } finally {
    for (const child of children.reverse()) {
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    }
    programs.remove()
    await node.stop()
  }
}

const rows: object[] = []
for (let i = 0; i < Number(values.seeds); i++) {
  const trial = draw(Number(values.seed) + i, Number(values.seconds))
  const { attainment, joules, requests, objectiveMs, sendLateMs } = await govern(trial)
  console.info({ ...trial, loads: undefined, attainment, joules, requests, objectiveMs, sendLateMs })
  const virtual = await judgeTrial(trial)
  const virtualJ = virtual.run.joules
  const percent = (share: number) => (100 * share).toFixed(2)
  rows.push({
    trace: `${trial.kind} ${trial.seed}`,
    requests,
    'objective, ms': objectiveMs,
    'sent late, p99 ms': sendLateMs.toFixed(1),
    void: sendLateMs > MAX_SEND_LATE * objectiveMs,
    'in time, %': percent(attainment),
    'virtual, %': percent(virtual.attainment),
    'alone, virtual, %': percent(virtual.alone),
    joules: joules.toFixed(0),
    'of virtual': (joules / virtualJ).toFixed(3),
    'of best': ((virtual.ofBest * joules) / virtualJ).toFixed(3),
    'virtual of best': virtual.ofBest.toFixed(3),
    'of peak': ((virtual.ofPeak * joules) / virtualJ).toFixed(3),
    'of alone': ((virtual.ofAlone * joules) / virtualJ).toFixed(3),
    'peak over mean': virtual.peakOverMean.toFixed(2),
  })
  console.info(rows.at(-1))
}
console.table(rows)

import { SimulatedGpu, type SimulatedProcess } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import type { Arrivals, GpuLease } from '@pctodl/platform'
import { diurnalArrivals, during, poissonArrivals, superposed } from '@pctodl/traffic'
import { givenNetwork } from '../../sim-host/src/control-protocol.js'
import { LlmEngine } from '../../sim-host/src/llm-engine.js'
import { GovernLaw, readHistograms, vllmNames } from '../src/index.js'
import type { HistogramSample, LatencyKind, SeriesNames } from '../src/metrics/histograms.js'
import type { Latencies } from '../src/metrics/prometheus-text.js'
import { ManualClock } from './virtual-server.js'
import { type GovernedRun, LatencyFeedback } from './virtual-trials.js'

const TICK_MS = 5
const SCRAPE_MS = 250
const WARM_MS = 30_000
const PEAK_MS = 30_000
const MODEL = 'm'

export interface LlmTrial {
  readonly board: string
  readonly parameters: number
  readonly objective: { readonly ms: number; readonly of: LatencyKind }
  readonly arrivals: () => Arrivals
  readonly seconds: number
  readonly seed: number
  /** Read its histograms as those of any server, with or without the gauge of what is in flight. */
  readonly mapped?: Pick<SeriesNames, 'running'>
}

/** What the engine waits for, and what time it is for it. */
interface Step {
  done: ((reply: object) => void) | null
  nowMs: number
}

/** The stand-in for vLLM of the simulated host, on a board in virtual time. */
class VirtualLlm {
  readonly clock: ManualClock = new ManualClock()
  readonly gpu: SimulatedGpu
  readonly lease: GpuLease
  readonly engine: LlmEngine
  busyMs = 0
  readonly #process: SimulatedProcess
  readonly #board: Step

  private constructor(
    parts: Pick<VirtualLlm, 'clock' | 'gpu' | 'lease' | 'engine'>,
    process: SimulatedProcess,
    board: Step,
  ) {
    this.clock = parts.clock
    this.gpu = parts.gpu
    this.lease = parts.lease
    this.engine = parts.engine
    this.#process = process
    this.#board = board
  }

  static async start({ board: key, parameters, seed }: LlmTrial): Promise<VirtualLlm> {
    const clock = new ManualClock()
    const gpu = new SimulatedGpu(key, { clock, seed })
    const board: Step = { done: null, nowMs: 0 }
    let process!: SimulatedProcess
    const engine = await LlmEngine.start(
      parameters,
      async ({ work }) => {
        const network = givenNetwork(work)
        gpu.addNetwork(network)
        process = gpu.launch({ model: network.name, batchSize: 1, mpsPercent: 100 }, { stepwise: true })
        while (process.state !== 'running') {
          clock.ms += TICK_MS
          gpu.catchUp()
        }
        board.nowMs = clock.ms
        const request = ({ batchSize }: { batchSize: number }) =>
          new Promise<never>((resolve) => {
            gpu.beginStep(process, Math.max(clock.ms - TICK_MS, board.nowMs), batchSize)
            board.done = resolve as (reply: object) => void
          })
        return { client: { request: request as never, onClose() {}, close() {} } }
      },
      () => board.nowMs,
    )
    return new VirtualLlm({ clock, gpu, engine, lease: await gpu.acquire() }, process, board)
  }

  /** @param add what comes in this time */
  async advance(ms: number, add: (untilMs: number, at: (atMs: number) => void) => void): Promise<void> {
    for (const endMs = this.clock.ms + ms; this.clock.ms < endMs; ) {
      this.clock.ms += TICK_MS
      this.gpu.catchUp()
      const done = this.#board.done
      if (done && this.#process.waiting) {
        this.#board.done = null
        this.#board.nowMs = this.#process.lastCompletionMs
        done({ cudaError: 0, message: '', durationMs: 0 })
        await new Promise(setImmediate)
      }
      add(this.clock.ms, (atMs) => {
        this.#board.nowMs = Math.max(atMs, this.#board.nowMs)
      })
      this.busyMs += (TICK_MS * ((await this.gpu.sample()).smUtilPercent ?? 0)) / 100
    }
  }
}

/** @param control a fixed clock; null: left alone; the law, or the plain feedback of latencies */
export async function runLlm(
  trial: LlmTrial,
  control: number | null | 'law' | 'feedback',
): Promise<GovernedRun & { readonly judged: Latencies }> {
  const { objective, seconds, seed, mapped } = trial
  const server = await VirtualLlm.start(trial)
  const { spec } = server.gpu
  const whole = 'vllm:e2e_request_latency_seconds'
  const names = mapped ? { whole, judged: [whole], ...mapped } : vllmNames(MODEL, objective.of)
  const read = (): HistogramSample => readHistograms(server.engine.metrics(MODEL), names, objective.ms)!
  const { objectiveMs } = read()
  const law = new GovernLaw({ spec, services: [{ name: MODEL, objectiveMs, attainment: 0.99, limits: null }] })
  const feedback = new LatencyFeedback(trial.board)
  if (typeof control === 'number') await server.lease.lockSmClock(control)
  const random = new SeededRandom(seedFrom('llm', seed))
  const arrivals = trial.arrivals()
  const startMs = server.clock.ms
  let nextMs = startMs + arrivals.nextMs()
  const add = (untilMs: number, at: (atMs: number) => void) => {
    for (; nextMs <= untilMs; nextMs = startMs + arrivals.nextMs()) {
      at(nextMs)
      const [promptTokens, maxTokens] = [100 + 800 * random.uniform(), 30 + 120 * random.uniform()].map(Math.round)
      server.engine.add({ promptTokens: promptTokens!, maxTokens: maxTokens!, onToken() {}, onFailure() {} })
    }
  }
  let [begin, before] = [read(), read()]
  let [joules, worst] = [0, 1]
  const clocksMhz: number[] = []
  const reasons = new Map<string, number>()
  for (let ms = 0; ms < WARM_MS + 1000 * seconds; ms += SCRAPE_MS) {
    const sinceMs = ms - WARM_MS
    if (sinceMs === 0) {
      begin = read()
      joules = server.gpu.truth().energyJ
    }
    if (sinceMs >= 0 && sinceMs % PEAK_MS === 0) {
      worst = Math.min(worst, sinceMs === 0 ? 1 : attainmentSince(before, read()))
      before = read()
    }
    const { busyMs } = server
    await server.advance(SCRAPE_MS, add)
    if (control === 'feedback') {
      const { judged, late } = read()
      await server.lease.lockSmClock(feedback.step([{ completed: judged.counts.at(-1)!, late }]))
    }
    if (control !== 'law') continue
    const smUtilPercent = (100 * (server.busyMs - busyMs)) / SCRAPE_MS
    const telemetry = { ...(await server.gpu.sample()), smUtilPercent }
    const { smClockMhz, reason } = law.step([read()], telemetry)
    if (smClockMhz === null) await server.lease.resetSmClock()
    else await server.lease.lockSmClock(smClockMhz)
    if (sinceMs >= 0) clocksMhz.push(smClockMhz ?? 0)
    reasons.set(reason, 1 + (reasons.get(reason) ?? 0))
  }
  const end = read()
  return {
    joules: server.gpu.truth().energyJ - joules,
    ...{ attainment: attainmentSince(begin, end), worst, clocksMhz, reasons, law, judged: end.judged },
  }
}

function attainmentSince(before: HistogramSample, after: HistogramSample): number {
  const all = after.judged.counts.at(-1)! - before.judged.counts.at(-1)!
  return all === 0 ? 1 : 1 - (after.late - before.late) / all
}

export const llmKinds = ['steady', 'day', 'steps', 'mapped'] as const

/** The objective is the least bucket bound that the board left alone keeps with room, or the one after it. */
export async function drawLlm(kind: (typeof llmKinds)[number], seed: number, seconds: number): Promise<LlmTrial> {
  const random = new SeededRandom(seedFrom('govern llm', kind, seed))
  const within = (low: number, high: number) => low + (high - low) * random.uniform()
  const parameters = within(1e9, 9e9)
  const meanPerS = (within(0.12, 0.5) * 8 * 8e9) / parameters
  const of = kind === 'mapped' ? 'e2e' : (['e2e', 'ttft', 'tpot'] as const)[Math.floor(3 * random.uniform())]!
  const looser = random.uniform() < 0.5 ? 1 : 0
  const phase = within(0, 1)
  const process = (() => {
    if (kind === 'day')
      return diurnalArrivals({
        meanRatePerS: meanPerS,
        swing: 0.7,
        periodMs: 1000 * seconds,
        peakMs: 1000 * seconds * phase,
      })
    if (kind !== 'steps') return poissonArrivals({ ratePerS: meanPerS })
    const peak = during(poissonArrivals({ ratePerS: 0.8 * meanPerS }), {
      fromMs: 500 * phase * seconds + WARM_MS,
      toMs: 500 * (phase + 0.6) * seconds + WARM_MS,
    })
    return superposed([poissonArrivals({ ratePerS: 0.6 * meanPerS }), peak])
  })()
  const trial = {
    ...{ board: 'A100', parameters, seconds, seed, arrivals: () => process.start(seed) },
    ...(kind === 'mapped' ? { mapped: seed % 2 === 0 ? {} : { running: 'vllm:num_requests_running' } } : {}),
  }
  const { judged } = await runLlm({ ...trial, objective: { ms: 1e6, of } }, null)
  const kept = judged.counts.findIndex((count) => count >= 0.996 * judged.counts.at(-1)!)
  return { ...trial, objective: { ms: judged.boundsMs[kept + looser]!, of } }
}

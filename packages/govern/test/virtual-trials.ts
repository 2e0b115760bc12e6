import { simulateSteadyState } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { findGpuSpec, smClocksAt } from '@pctodl/platform'
import {
  diurnalArrivals,
  during,
  gammaArrivals,
  markovModulatedArrivals,
  poissonArrivals,
  superposed,
} from '@pctodl/traffic'
import { GovernLaw, readTriton } from '../src/index.js'
import type { GovernDecision } from '../src/law/govern-law.js'
import { readTritonLimits } from '../src/metrics/triton.js'
import { type VirtualLoad, VirtualServer } from './virtual-server.js'

export const SCRAPE_MS = 250
const WARM_MS = 10_000
const PEAK_MS = 30_000

export interface Trial {
  readonly board: string
  readonly kind: string
  readonly seed: number
  readonly loads: readonly VirtualLoad[]
  readonly seconds: number
}

export interface Outcome {
  readonly joules: number
  /** Of the worst service. */
  readonly attainment: number
  /** The same in the worst half minute. */
  readonly worst: number
}

export const kinds = ['steady', 'day', 'bursts', 'steps', 'over-dispersed', 'high-day', 'flash-crowds'] as const

export function drawTrial(kind: (typeof kinds)[number], seed: number, seconds: number): Trial {
  const random = new SeededRandom(seedFrom('govern', kind, seed))
  const within = (low: number, high: number) => low + (high - low) * random.uniform()
  const board = random.uniform() < 0.5 ? '3080Ti' : 'A100'
  const models =
    random.uniform() < 0.3
      ? ['resnet50']
      : random.uniform() < 0.5
        ? ['vgg19', 'resnet50']
        : ['resnet50', 'mobilenet_v2']
  // What the models answer together, and how long a full batch takes then.
  const spec = findGpuSpec(board)
  const tenants = models.map((model) => ({ model, mpsPercent: 100, batchSize: 8 }))
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  const full = simulateSteadyState(board)({ tenants, smClockMhz: spec.boostClockMhz, memClockMhz })
  const loads = models.map((model, i): VirtualLoad => {
    const { throughput, batchMs } = full.tenants[i]!
    const meanPerS = within(0.15, 0.45) * throughput
    const [phase, from] = [within(0, 1), within(0.15, 0.6)]
    const process = (() => {
      if (kind === 'steady') return poissonArrivals({ ratePerS: meanPerS })
      if (kind === 'over-dispersed') return gammaArrivals({ ratePerS: meanPerS, burstiness: within(2, 6) })
      if (kind === 'day')
        return diurnalArrivals({
          meanRatePerS: meanPerS,
          swing: 0.8,
          periodMs: 1000 * seconds,
          peakMs: 1000 * seconds * phase,
        })
      // The last two have peaks of several times the mean: shares of the time, and of what the models answer together.
      if (kind === 'high-day') return hills(seconds, throughput, [[phase, 0.35, within(0.82, 0.92)]])
      if (kind === 'flash-crowds') {
        return hills(seconds, throughput, [
          [from / 2, 0.04, within(0.85, 0.95)],
          [0.4 + from / 2, 0.06, within(0.75, 0.9)],
        ])
      }
      if (kind === 'steps') {
        const peak = during(poissonArrivals({ ratePerS: within(1, 2) * meanPerS }), {
          fromMs: from * 1000 * seconds,
          toMs: (from + 0.25) * 1000 * seconds,
        })
        return superposed([poissonArrivals({ ratePerS: 0.7 * meanPerS }), peak])
      }
      return markovModulatedArrivals({
        states: [
          { ratePerS: 0.6 * meanPerS, meanDwellMs: 40_000 },
          { ratePerS: 2 * meanPerS, meanDwellMs: 15_000 },
        ],
      })
    })()
    const objective = { p99Ms: within(3, 8) * batchMs }
    return {
      service: { name: `${model}-${i}`, model, objective, weight: 1, maxBatchSize: 8, maxQueueDelayMs: 2 },
      arrivals: () => process.start(seed + i),
    }
  })
  return { board, kind, seed, loads, seconds }
}

/** A calm from which the rate rises, in six equal steps up and six down, around given moments: [moment, width, height]. */
function hills(seconds: number, throughputPerS: number, all: readonly (readonly [number, number, number])[]) {
  const steps = all.flatMap(([moment, width, height]) =>
    Array.from({ length: 6 }, (_, i) => {
      const half = (width * (6 - i)) / 12
      const middle = Math.min(1 - half, Math.max(half, moment))
      return during(poissonArrivals({ ratePerS: ((height - 0.08) * throughputPerS) / 6 }), {
        fromMs: WARM_MS + 1000 * seconds * (middle - half),
        toMs: WARM_MS + 1000 * seconds * (middle + half),
      })
    }),
  )
  return superposed([poissonArrivals({ ratePerS: 0.08 * throughputPerS }), ...steps])
}

/** @param smClockMhz null: left alone */
export async function runFixed({ board, loads, seed, seconds }: Trial, smClockMhz: number | null): Promise<Outcome> {
  const server = await VirtualServer.start(board, loads, seed, false)
  await server.lock(smClockMhz)
  await server.advance(WARM_MS)
  const begin = server.counters()
  const joules = server.gpu.truth().energyJ
  let worst = 1
  for (let ms = 0; ms < 1000 * seconds; ms += PEAK_MS) {
    const before = server.counters()
    await server.advance(PEAK_MS)
    worst = Math.min(worst, attainmentSince(server, before))
  }
  return { ...outcome(server, begin, joules), worst }
}

export interface GovernedRun extends Outcome {
  readonly clocksMhz: readonly number[]
  readonly reasons: ReadonlyMap<string, number>
  readonly law: GovernLaw
}

/** The law of a trial's services, at 99 %. */
export function lawOf(server: VirtualServer): GovernLaw {
  return new GovernLaw({
    spec: server.gpu.spec,
    services: server.loads.map(({ service }, i) => ({
      name: service.name,
      objectiveMs: service.objective.p99Ms,
      attainment: 0.99,
      limits: readTritonLimits(server.config(i)),
    })),
  })
}

/** Let an interval pass and show it to the law. */
export async function stepOf(law: GovernLaw, server: VirtualServer): Promise<GovernDecision> {
  const busyMs = server.busyMs
  await server.advance(SCRAPE_MS)
  const metrics = server.metrics()
  const samples = server.loads.map(({ service }, i) => readTriton(service.name, metrics, server.stats(i)))
  // NVML's busy share is a mean over time.
  const telemetry = { ...(await server.telemetry()), smUtilPercent: (100 * (server.busyMs - busyMs)) / SCRAPE_MS }
  return law.step(samples, telemetry)
}

/** A plain opponent: every 2 s one step up where more than 1 % came late, and one down where none did. */
export class LatencyFeedback {
  static readonly #stepMhz = 60
  readonly #lowestMhz: number
  readonly #topMhz: number
  #smClockMhz: number
  #before: readonly Answered[] = []
  #intervals = 0

  constructor(board: string) {
    const clocks = clocksOf(board)
    this.#lowestMhz = clocks[0]!
    this.#topMhz = clocks.at(-1)!
    this.#smClockMhz = this.#topMhz
  }

  step(services: readonly Answered[]): number {
    if (this.#intervals++ % 8 !== 7) return this.#smClockMhz
    const worst = Math.max(
      ...services.map(({ completed, late }, i) => {
        const before = this.#before[i] ?? { completed: 0, late: 0 }
        return (late - before.late) / Math.max(1, completed - before.completed)
      }),
    )
    this.#before = services
    const step = worst > 0.01 ? 1 : worst === 0 ? -1 : 0
    const smClockMhz = this.#smClockMhz + step * LatencyFeedback.#stepMhz
    this.#smClockMhz = Math.min(this.#topMhz, Math.max(this.#lowestMhz, smClockMhz))
    return this.#smClockMhz
  }
}

interface Answered {
  readonly completed: number
  readonly late: number
}

export function clocksOf(board: string): number[] {
  const spec = findGpuSpec(board)
  return smClocksAt(spec, spec.performanceMemClocksMhz[0]!)!.filter((clock) => clock <= spec.boostClockMhz)
}

/** A fixed clock that needs no measurement: where the voltage of most boards begins to rise. */
export function plainKneeMhz(board: string): number {
  return clocksOf(board).findLast((clock) => clock <= 0.7 * findGpuSpec(board).boostClockMhz)!
}

export async function runFeedback({ board, loads, seed, seconds }: Trial): Promise<Outcome> {
  const server = await VirtualServer.start(board, loads, seed, false)
  const feedback = new LatencyFeedback(board)
  let begin = server.counters()
  let joules = 0
  for (let ms = 0; ms < WARM_MS + 1000 * seconds; ms += SCRAPE_MS) {
    if (ms === WARM_MS) {
      begin = server.counters()
      joules = server.gpu.truth().energyJ
    }
    await server.advance(SCRAPE_MS)
    await server.lock(feedback.step(server.counters()))
  }
  return outcome(server, begin, joules)
}

export async function runGoverned({ board, loads, seed, seconds }: Trial): Promise<GovernedRun> {
  const server = await VirtualServer.start(board, loads, seed)
  const law = lawOf(server)
  const clocksMhz: number[] = []
  const reasons = new Map<string, number>()
  let begin = server.counters()
  let joules = 0
  for (let ms = 0; ms < WARM_MS + 1000 * seconds; ms += SCRAPE_MS) {
    if (ms === WARM_MS) {
      begin = server.counters()
      joules = server.gpu.truth().energyJ
    }
    const { smClockMhz, reason } = await stepOf(law, server)
    await server.lock(smClockMhz)
    clocksMhz.push(smClockMhz ?? 0)
    reasons.set(reason, 1 + (reasons.get(reason) ?? 0))
  }
  return { ...outcome(server, begin, joules), clocksMhz, reasons, law }
}

function outcome(server: VirtualServer, begin: Counters, joules: number): Outcome {
  return { joules: server.gpu.truth().energyJ - joules, attainment: attainmentSince(server, begin), worst: 0 }
}

function attainmentSince(server: VirtualServer, begin: Counters): number {
  const shares = server.counters().map(({ completed, late, failed, shed, queued }, i) => {
    const before = begin[i]!
    const answered = completed - before.completed
    const lost = failed + shed - before.failed - before.shed + Math.max(0, queued - before.queued)
    return (answered - (late - before.late)) / (answered + lost)
  })
  return Math.min(...shares)
}

type Counters = ReturnType<VirtualServer['counters']>

export interface Judged {
  readonly attainment: number
  /** 99 %, or within half a point of the board left alone. */
  readonly kept: boolean
  /** Attainment of the board left alone. */
  readonly alone: number
  /** Joules over those of the best fixed clock in hindsight, the clock that holds the worst half minute, and the board left alone. */
  readonly ofBest: number
  readonly ofPeak: number
  readonly ofAlone: number
  /** The clock that holds the peak over the mean of the clocks chosen. */
  readonly peakOverMean: number
  /** Another way to choose the clock, judged in the same way. */
  readonly against: (rival: Outcome) => Pick<Judged, 'kept' | 'ofBest'>
  readonly run: GovernedRun
}

export function judgeTrial(trial: Trial): Promise<Judged> {
  return judge(
    trial.board,
    (smClockMhz) => runFixed(trial, smClockMhz),
    () => runGoverned(trial),
  )
}

export async function judge(
  board: string,
  runFixed: (smClockMhz: number | null) => Promise<Outcome>,
  runGoverned: () => Promise<GovernedRun>,
): Promise<Judged> {
  const alone = await runFixed(null)
  const clocks = clocksOf(board)
  const runs = new Map<number, Outcome>()
  /** The lowest clock that keeps 99 %, or as much as the top one does: attainment rises with the clock. */
  const lowest = async (attained: (outcome: Outcome) => number) => {
    const run = async (index: number) => {
      const clock = clocks[index]!
      const outcome = runs.get(clock) ?? (await runFixed(clock))
      runs.set(clock, outcome)
      return outcome
    }
    let [low, high] = [-1, clocks.length - 1]
    const aim = Math.min(0.99, attained(await run(high)))
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (attained(await run(middle)) >= aim) high = middle
      else low = middle
    }
    return { ...(await run(high)), smClockMhz: clocks[high]! }
  }
  const best = await lowest(({ attainment }) => attainment)
  const peak = await lowest(({ worst }) => worst)
  const run = await runGoverned()
  const kept = ({ attainment }: Outcome) => attainment >= Math.min(0.99, alone.attainment - 0.005)
  const meanMhz = run.clocksMhz.reduce((sum, clock) => sum + clock, 0) / run.clocksMhz.length
  return {
    attainment: run.attainment,
    kept: kept(run),
    alone: alone.attainment,
    ofBest: run.joules / best.joules,
    ofPeak: run.joules / peak.joules,
    ofAlone: run.joules / alone.joules,
    peakOverMean: peak.smClockMhz / meanMhz,
    against: (rival) => ({ kept: kept(rival), ofBest: rival.joules / best.joules }),
    run,
  }
}

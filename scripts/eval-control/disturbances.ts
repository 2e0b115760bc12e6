import type { FaultScenario } from '@pctodl/gpu-sim'
import type { Predictor } from '@pctodl/perf-model'
import {
  type Clock,
  type Gpu,
  type GpuInfo,
  type GpuLease,
  type GpuSpec,
  SeededRandom,
  type Telemetry,
} from '@pctodl/platform'

/** What makes a run harder than the board by itself. */
export interface Disturbance {
  readonly name: string
  /** Error put on the predictor's power, percent. */
  readonly modelErrorPercent?: number
  /** Readings arrive this late, and the policy is not told. */
  readonly readingLagMs?: number
  /** Share of the readings that never arrive. */
  readonly lostShare?: number
  readonly faults?: FaultScenario
  /** Until then no setter is granted, ms: a cap step before it can settle only from then on. */
  readonly refusedUntilMs?: number
}

/** When faults strike, ms: in the steady state of a fixed cap, and across the first cap step of a schedule. */
const FAULT_MS = 90_000
const FIRST_STEP_MS = 250_000

export const undisturbed: Disturbance = { name: 'none' }

export function disturbances(scheduled: boolean): readonly Disturbance[] {
  const refusedMs = scheduled ? FIRST_STEP_MS - 2000 : FAULT_MS
  return [
    { name: 'model 20 % too low', modelErrorPercent: -20 },
    { name: 'model 20 % too high', modelErrorPercent: 20 },
    { name: 'sensor 1 s late', readingLagMs: 1000 },
    { name: '10 % of samples lost', lostShare: 0.1 },
    { name: 'a tenant dies', faults: { faults: [{ kind: 'client-killed', atMs: FAULT_MS, tenant: 0 }] } },
    {
      name: 'setters refused 10 s',
      faults: { faults: [{ kind: 'setter-refused', atMs: refusedMs, durationMs: 10_000 }] },
      refusedUntilMs: refusedMs + 10_000,
    },
  ]
}

/** A predictor whose power is off by a factor. */
export function withModelError(predictor: Predictor, errorPercent: number): Predictor {
  const factor = 1 + errorPercent / 100
  return {
    spec: predictor.spec,
    memClocksMhz: predictor.memClocksMhz,
    predict: (configuration) => {
      const prediction = predictor.predict(configuration)
      return { ...prediction, powerW: prediction.powerW * factor }
    },
    solveSmClock: (tenants, memClockMhz, powerCapW) => predictor.solveSmClock(tenants, memClockMhz, powerCapW / factor),
    memoryBytes: (tenant) => predictor.memoryBytes(tenant),
  }
}

/** A board whose readings arrive late or not at all. Setters and processes are untouched. */
export class DisturbedGpu implements Gpu {
  readonly #gpu: Gpu
  readonly #clock: Clock
  readonly #lagMs: number
  readonly #lostShare: number
  readonly #random: SeededRandom
  readonly #waiting: Telemetry[] = []
  #shown: Telemetry | undefined

  constructor(gpu: Gpu, clock: Clock, { readingLagMs = 0, lostShare = 0 }: Disturbance, seed: number) {
    this.#gpu = gpu
    this.#clock = clock
    this.#lagMs = readingLagMs
    this.#lostShare = lostShare
    this.#random = new SeededRandom(seed)
  }

  get spec(): GpuSpec {
    return this.#gpu.spec
  }

  info(): Promise<GpuInfo> {
    return this.#gpu.info()
  }

  acquire(): Promise<GpuLease> {
    return this.#gpu.acquire()
  }

  async sample(): Promise<Telemetry> {
    const reading = await this.#gpu.sample()
    this.#waiting.push(reading)
    while (this.#waiting[0] && this.#waiting[0].timeMs <= this.#clock.now() - this.#lagMs) {
      this.#shown = this.#waiting.shift()!
    }
    const lost = this.#random.uniform() < this.#lostShare
    const power = lost || !this.#shown ? { powerAverageW: null, powerInstantW: null } : this.#shown
    return { ...reading, powerAverageW: power.powerAverageW, powerInstantW: power.powerInstantW }
  }
}

import { SeededRandom } from '@pctodl/numerics'
import type { Clock, Gpu, GpuInfo, GpuLease, GpuSpec, Telemetry } from '@pctodl/platform'

export interface SensorTrouble {
  /** Delay of the readings, ms. */
  readonly lagMs?: number
  /** Whether all telemetry is delayed (clocks, energy, utilization) instead of the power readings only. */
  readonly lateAll?: boolean
  /** Share of the readings that are lost, 0..1. */
  readonly lostShare?: number
}

/** A board whose readings are delayed or lost without notice. Setters and processes are not affected. */
export class MisledGpu implements Gpu {
  readonly #gpu: Gpu
  readonly #clock: Clock
  readonly #trouble: SensorTrouble
  readonly #random: SeededRandom
  readonly #waiting: Telemetry[] = []
  #shown: Telemetry | undefined

  constructor(gpu: Gpu, clock: Clock, trouble: SensorTrouble, seed: number) {
    this.#gpu = gpu
    this.#clock = clock
    this.#trouble = trouble
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
    const { lagMs = 0, lateAll = false, lostShare = 0 } = this.#trouble
    const reading = await this.#gpu.sample()
    this.#waiting.push(reading)
    while (this.#waiting[0] && this.#waiting[0].timeMs <= this.#clock.now() - lagMs)
      this.#shown = this.#waiting.shift()!
    const lost = this.#random.uniform() < lostShare
    const shown = this.#shown ?? { ...reading, powerAverageW: null, powerInstantW: null, energyJ: null }
    const told = lateAll ? { ...shown, timeMs: reading.timeMs } : reading
    const { powerAverageW, powerInstantW } = lost ? { powerAverageW: null, powerInstantW: null } : shown
    return { ...told, powerAverageW, powerInstantW }
  }
}

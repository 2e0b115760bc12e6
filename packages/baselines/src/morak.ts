import { type GpuSpec, snapDown, type Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { BatchLimits } from './batch-limits.js'
import { guardedIndex, highestMemClock, middleIndex, workingSmClocks } from './clock-table.js'
import { type BaselineVariant, type MorakFigures, morakFigures } from './network-figures.js'
import { SettledPower } from './settled-power.js'

export interface MorakOptions {
  readonly spec: GpuSpec
  readonly model: string
  /** Default `fair`. */
  readonly variant?: BaselineVariant
  /** Instead of the figures known for the network. */
  readonly figures?: MorakFigures
}

const START_BATCH = 96
/** Upper end of the band in which it holds, relative to the cap. */
const TOLERANCE = 1.02

/**
 * Morak (Liu, Ma, Zhang, Zheng, IEEE MASS 2023, DOI 10.1109/MASS58611.2023.00074) as upstream PctoDL ports it: two tenants of
 * fixed shares and one batch size; below the cap it grows the batch, then the clock; above it lowers the clock, or the batch
 * where latency is too long.
 */
export class MorakPolicy implements PowerCapPolicy {
  readonly name = 'morak'
  readonly notes: string[] = []
  readonly #options: MorakOptions
  readonly #figures: MorakFigures
  readonly #clocksMhz: readonly number[]
  readonly #limits = new BatchLimits()
  readonly #power = new SettledPower()
  #clockIndex: number
  #batchIndex: number

  /** @throws UnknownNameError for a network without figures */
  constructor(options: MorakOptions) {
    this.#options = options
    this.#figures = options.figures ?? morakFigures(options.model, options.variant ?? 'fair')
    this.#clocksMhz = workingSmClocks(options.spec)
    this.#clockIndex = middleIndex(this.#clocksMhz)
    const { batchLadder } = this.#figures
    this.#batchIndex = Math.max(0, batchLadder.indexOf(snapDown(batchLadder, START_BATCH) ?? 0))
  }

  start(): Action {
    const published = this.#options.variant === 'published'
    return { ...this.#action(), memClockMhz: published ? 'unlocked' : highestMemClock(this.#options.spec) }
  }

  /** The next window is judged by the new cap. */
  onCapChange(): undefined {}

  onSample(sample: SampleObservation): undefined {
    this.#power.observe(sample)
  }

  onWindow(window: WindowObservation): Action | undefined {
    const powerW = this.#power.close(window)
    if (window.tenants.some(({ failure }) => failure !== null)) {
      return this.#limits.learn(window) ? this.#action() : undefined
    }
    const latencies = window.tenants.map(({ latencyMs }) => latencyMs).filter((latencyMs) => latencyMs !== null)
    if (powerW === null || latencies.length === 0 || window.reconfigured) return undefined
    this.#decide(powerW, window.powerCapW, Math.max(...latencies))
    return this.#action()
  }

  #decide(powerW: number, powerCapW: number, latencyMs: number): void {
    const { alpha, belta, sloMs, batchLadder } = this.#figures
    const used = this.#clockIndex
    const step = stepSize(Math.abs(powerW - powerCapW) / powerCapW)
    const slow = latencyMs > belta * sloMs
    let clockIndex = used
    if (powerW <= alpha * powerCapW) {
      if (!slow && this.#batchIndex < batchLadder.length - 1) this.#batchIndex++
      else clockIndex += step
    } else if (powerW > TOLERANCE * powerCapW) {
      if (slow) this.#batchIndex = Math.max(0, this.#batchIndex - step)
      else clockIndex -= step
    }
    clockIndex = Math.min(this.#clocksMhz.length - 1, Math.max(0, clockIndex))
    this.#clockIndex = guardedIndex(used, clockIndex, powerW, powerCapW)
  }

  #action(): Action {
    const batchSize = this.#figures.batchLadder[this.#batchIndex]!
    const tenants: Tenant[] = this.#figures.sharesPercent.map((mpsPercent) => ({
      model: this.#options.model,
      mpsPercent,
      batchSize,
    }))
    return { tenants: this.#limits.apply(tenants), smClockMhz: this.#clocksMhz[this.#clockIndex]! }
  }
}

/** States to move by, for a relative distance from the cap. */
function stepSize(distance: number): number {
  if (distance > 0.2) return 10
  if (distance > 0.1) return 5
  return distance > 0.05 ? 2 : 1
}

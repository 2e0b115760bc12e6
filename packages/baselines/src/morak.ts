import { type GpuSpec, snapDown, type Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { BatchLimits } from './batch-limits.js'
import { guardedIndex, highestMemClock, middleIndex, workingSmClocks } from './clock-table.js'
import { type BaselineVariant, type MorakFigures, morakFigures } from './network-figures.js'
import { SettledPower } from './settled-power.js'
import { type ClockPlanner, nameOf, plannedStart, plannerOf } from './tuned-form.js'

export interface MorakOptions {
  readonly spec: GpuSpec
  readonly model: string
  /** Default `fair`. */
  readonly variant?: BaselineVariant
  /** Plans the clocks for the start and for each new cap. Required for the tuned form, ignored by the others. */
  readonly planClocks?: ClockPlanner
  /**
   * Configuration of Morak for the network. Default: the built-in configuration of that network, see `morakFigures`.
   */
  readonly figures?: MorakFigures
  /** Initial batch size, or the next lower one of the ladder. Default 96. */
  readonly startBatch?: number
}

const START_BATCH = 96
/** Upper end of the band in which Morak changes nothing, relative to the cap. */
const TOLERANCE = 1.02

/**
 * Morak (Liu, Ma, Zhang, Zheng, IEEE MASS 2023, DOI 10.1109/MASS58611.2023.00074) as PctoDL's Python code ports it. It
 * has two tenants with fixed shares and one common batch size. Below the cap, it raises first the batch size and then
 * the clock. Above the cap, it lowers the clock, or the batch size if the latency is too long.
 *
 * `tuned` follows the same rules, but from a start that keeps the cap: with each new cap, it adopts the memory clock
 * and SM clock planned for its tenants, and sets the board's power limit to the cap.
 */
export class MorakPolicy implements PowerCapPolicy {
  readonly name: string
  readonly notes: string[] = []
  readonly #options: MorakOptions
  readonly #figures: MorakFigures
  readonly #planClocks: ClockPlanner | undefined
  #clocksMhz: readonly number[]
  readonly #limits = new BatchLimits()
  readonly #power = new SettledPower()
  #clockIndex: number
  #batchIndex: number

  /**
   * @throws UnknownNameError for a network without figures
   * @throws InvalidInputError for a tuned form without a planner
   */
  constructor(options: MorakOptions) {
    this.#options = options
    this.name = nameOf('morak', options.variant)
    this.#planClocks = plannerOf(options.variant, options.planClocks)
    this.#figures = options.figures ?? morakFigures(options.model, options.variant ?? 'fair')
    this.#clocksMhz = workingSmClocks(options.spec)
    this.#clockIndex = middleIndex(this.#clocksMhz)
    const { batchLadder } = this.#figures
    this.#batchIndex = Math.max(0, batchLadder.indexOf(snapDown(batchLadder, options.startBatch ?? START_BATCH) ?? 0))
  }

  start(powerCapW: number): Action {
    if (this.#planClocks) return this.#adopt(powerCapW, this.#planClocks)
    const published = this.#options.variant === 'published'
    return { ...this.#action(), memClockMhz: published ? 'unlocked' : highestMemClock(this.#options.spec) }
  }

  /** Notes the new cap, which applies from the next window on. The tuned form moves at once to clocks that keep it. */
  onCapChange(powerCapW: number): Action | undefined {
    return this.#planClocks && this.#adopt(powerCapW, this.#planClocks)
  }

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
    this.#clockIndex = guardedIndex(this.#clocksMhz, used, clockIndex, powerW, powerCapW)
  }

  #adopt(powerCapW: number, planClocks: ClockPlanner): Action {
    const start = plannedStart(this.#options.spec, planClocks(this.#tenants(), powerCapW), powerCapW)
    this.#clocksMhz = start.clocksMhz
    this.#clockIndex = start.clockIndex
    return { ...this.#action(), ...start.action }
  }

  #tenants(): readonly Tenant[] {
    const batchSize = this.#figures.batchLadder[this.#batchIndex]!
    return this.#limits.apply(
      this.#figures.sharesPercent.map((mpsPercent) => ({ model: this.#options.model, mpsPercent, batchSize })),
    )
  }

  #action(): Action {
    return { tenants: this.#tenants(), smClockMhz: this.#clocksMhz[this.#clockIndex]! }
  }
}

/** Number of clock states to move, given the distance of power from the cap relative to the cap. */
function stepSize(distance: number): number {
  if (distance > 0.2) return 10
  if (distance > 0.1) return 5
  return distance > 0.05 ? 2 : 1
}

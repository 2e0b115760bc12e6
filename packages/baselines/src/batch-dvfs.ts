import { type GpuSpec, snapDown, type Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { guardedIndex, highestMemClock, middleIndex, workingSmClocks } from './clock-table.js'
import { type BaselineVariant, type BatchDvfsFigures, batchDvfsFigures } from './network-figures.js'
import { SettledPower } from './settled-power.js'
import { type ClockPlanner, nameOf, plannedStart, plannerOf } from './tuned-form.js'

export interface BatchDvfsOptions {
  readonly spec: GpuSpec
  readonly model: string
  /** Default `fair`. */
  readonly variant?: BaselineVariant
  /** Plans the clocks for the start and for each new cap. Required for the tuned form, ignored by the others. */
  readonly planClocks?: ClockPlanner
  /** Figures of the network; default: the known figures. */
  readonly figures?: BatchDvfsFigures
}

const START_BATCH = 256
/** Distance from the cap within which the clock moves by one state instead of four, W. */
const NEAR_W = 15
const FAR_STATES = 4

/**
 * BatchDVFS (Nabavinejad, Reda, Ebrahimi, IEEE TPDS 2022) as PctoDL's Python code ports it. One tenant has the whole
 * GPU. The policy bisects for the largest batch size that keeps the cap, then adjusts power with the clock.
 *
 * `fair` starts the bisection again when the cap changes. The Python code intends this, but writes to attributes that
 * do not exist. `published` therefore keeps the bounds of the first cap forever. `tuned` follows the rules of `fair`,
 * but from a start that keeps the cap: with each new cap, it adopts the memory clock and SM clock planned for its
 * tenant, and sets the board's power limit to the cap.
 */
export class BatchDvfsPolicy implements PowerCapPolicy {
  readonly name: string
  readonly notes: string[] = []
  readonly #options: BatchDvfsOptions
  readonly #alpha: number
  readonly #planClocks: ClockPlanner | undefined
  #clocksMhz: readonly number[]
  readonly #power = new SettledPower()
  /** Batch sizes that are not known to need too much memory, ascending. */
  #ladder: readonly number[]
  #clockIndex: number
  #batchIndex: number
  /** Bounds of the bisection, as indices of the ladder. */
  #low = 0
  #high: number

  /**
   * @throws UnknownNameError for a network without figures
   * @throws InvalidInputError for a tuned form without a planner
   */
  constructor(options: BatchDvfsOptions) {
    this.#options = options
    this.name = nameOf('batchdvfs', options.variant)
    this.#planClocks = plannerOf(options.variant, options.planClocks)
    const { alpha, batchLadder } = options.figures ?? batchDvfsFigures(options.model)
    this.#alpha = alpha
    this.#ladder = batchLadder
    this.#high = batchLadder.length - 1
    this.#batchIndex = this.#indexOf(START_BATCH)
    this.#clocksMhz = workingSmClocks(options.spec)
    this.#clockIndex = middleIndex(this.#clocksMhz)
  }

  start(powerCapW: number): Action {
    if (this.#planClocks) return this.#adopt(powerCapW, this.#planClocks)
    const published = this.#options.variant === 'published'
    return { ...this.#action(), memClockMhz: published ? 'unlocked' : highestMemClock(this.#options.spec) }
  }

  /** Notes the new cap, which applies from the next window on. The tuned form moves at once to clocks that keep it. */
  onCapChange(powerCapW: number): Action | undefined {
    if (this.#options.variant === 'published') return undefined
    this.#low = 0
    this.#high = this.#last
    return this.#planClocks && this.#adopt(powerCapW, this.#planClocks)
  }

  onSample(sample: SampleObservation): undefined {
    this.#power.observe(sample)
  }

  onWindow(window: WindowObservation): Action | undefined {
    const powerW = this.#power.close(window)
    const failed = window.tenants.find(({ failure }) => failure !== null)
    if (failed) return this.#shrink(failed.tenant.batchSize)
    if (powerW === null || window.reconfigured) return undefined
    this.#decide(powerW, window.powerCapW)
    return this.#action()
  }

  get #last(): number {
    return this.#ladder.length - 1
  }

  #decide(powerW: number, powerCapW: number): void {
    const used = this.#clockIndex
    const step = Math.abs(powerW - powerCapW) <= NEAR_W ? 1 : FAR_STATES
    const converged = this.#high - this.#low <= 1
    if (powerW >= powerCapW) this.#lower(converged, step)
    else if (powerW < this.#alpha * powerCapW) this.#raise(converged, step)
    this.#clockIndex = guardedIndex(this.#clocksMhz, used, this.#clockIndex, powerW, powerCapW)
  }

  #raise(converged: boolean, step: number): void {
    if (converged) {
      if (this.#clockIndex < this.#clocksMhz.length - 1) this.#clockIndex += step
      else if (this.#batchIndex < this.#last) this.#high = this.#last
    } else if (this.#batchIndex < this.#last) {
      this.#low = this.#batchIndex
      const middle = Math.ceil((this.#low + this.#high) / 2)
      this.#batchIndex = Math.min(this.#last, middle === this.#batchIndex ? middle + 1 : middle)
    } else {
      this.#clockIndex += step
    }
  }

  #lower(converged: boolean, step: number): void {
    if (converged) {
      this.#batchIndex = this.#low
      this.#clockIndex -= step
    } else if (this.#batchIndex > 0) {
      this.#high = this.#batchIndex
      const middle = Math.floor((this.#low + this.#high) / 2)
      this.#batchIndex = Math.max(0, middle === this.#batchIndex ? middle - 1 : middle)
    } else {
      this.#clockIndex -= step
    }
  }

  /**
   * To be called if a batch did not fit into memory. Uses at most half of its size, and never tries that size or a
   * larger one again.
   */
  #shrink(failedBatch: number): Action | undefined {
    if (failedBatch > this.#ladder[this.#batchIndex]! || failedBatch <= this.#ladder[0]!) return undefined
    this.#ladder = this.#ladder.filter((batch) => batch < failedBatch)
    this.#batchIndex = this.#indexOf(Math.floor(failedBatch / 2))
    this.#high = Math.min(this.#high, this.#last)
    this.#low = Math.min(this.#low, this.#batchIndex)
    return this.#action()
  }

  #indexOf(batch: number): number {
    return Math.max(0, this.#ladder.indexOf(snapDown(this.#ladder, batch) ?? 0))
  }

  #adopt(powerCapW: number, planClocks: ClockPlanner): Action {
    const start = plannedStart(this.#options.spec, planClocks(this.#tenants(), powerCapW), powerCapW)
    this.#clocksMhz = start.clocksMhz
    this.#clockIndex = start.clockIndex
    return { ...this.#action(), ...start.action }
  }

  #tenants(): readonly Tenant[] {
    return [{ model: this.#options.model, mpsPercent: 100, batchSize: this.#ladder[this.#batchIndex]! }]
  }

  #action(): Action {
    return { tenants: this.#tenants(), smClockMhz: this.#clocksMhz[this.#clockIndex]! }
  }
}

import type { Predictor } from '@pctodl/perf-model'
import { type Configuration, InfeasibleCapError, smClocksAt, snapNearest, type Tenant } from '@pctodl/platform'
import { fitPublishedLaw, PublishedController, publishedGuard } from '@pctodl/published/dvfs'
import {
  type Action,
  type PowerCapPolicy,
  planPartition,
  type SampleObservation,
  type WindowObservation,
} from '@pctodl/scheduler'
import { SettledPower } from './settled-power.js'

export interface PublishedPolicyOptions {
  readonly predictor: Predictor
  readonly model: string
}

/**
 * PctoDL's control as published, for comparison. Once per window, the published control law (`PublishedController`)
 * computes a clock from the window's highest power. `publishedGuard` checks this clock, and the supported clock nearest
 * to the result is locked. No hardware limit is set. After every change of the cap, the policy makes a new plan and
 * adopts it one window later, whatever the restarts cost. Partitioner and predictor are those of `PctodlPolicy`, so
 * only the control differs.
 */
export class PublishedPolicy implements PowerCapPolicy {
  readonly name = 'reference'
  readonly #options: PublishedPolicyOptions
  readonly #power = new SettledPower()
  #controller: PublishedController | undefined
  #clocksMhz: readonly number[] = []
  #usedClockMhz = 0
  #powerCapW = 0
  #pending: Configuration | undefined

  constructor(options: PublishedPolicyOptions) {
    this.#options = options
  }

  start(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    return { ...this.#adopt(this.#plan(powerCapW)), reason: 'plan for the first cap' }
  }

  /** The new cap applies from the next decision, at the end of a window. */
  onCapChange(powerCapW: number): undefined {
    this.#powerCapW = powerCapW
    this.#controller!.setPowerCap(powerCapW)
    try {
      this.#pending = this.#plan(powerCapW)
    } catch (error) {
      if (!(error instanceof InfeasibleCapError)) throw error
      this.#pending = undefined
    }
  }

  onSample(sample: SampleObservation): undefined {
    this.#power.observe(sample)
  }

  onWindow(window: WindowObservation): Action | undefined {
    const powerW = this.#power.close(window)
    if (this.#pending !== undefined) {
      const plan = this.#pending
      this.#pending = undefined
      return { ...this.#adopt(plan), reason: 'plan for the new cap' }
    }
    // The published code reads a window without readings as 0 W, so it takes all of the cap to be unused.
    const next = this.#controller!.step(this.#usedClockMhz, powerW !== null && powerW > 0 ? powerW : Number.MIN_VALUE)
    const guarded = publishedGuard(this.#clocksMhz, this.#usedClockMhz, next, powerW ?? 0, this.#powerCapW)
    this.#usedClockMhz = snapNearest(this.#clocksMhz, guarded)!
    return { smClockMhz: this.#usedClockMhz, reason: 'published three-stage law' }
  }

  #plan(powerCapW: number): Configuration {
    const { predictor, model } = this.#options
    return planPartition(predictor, { model, powerCapW })
  }

  #adopt({ tenants, smClockMhz, memClockMhz }: Configuration): Action {
    this.#clocksMhz = smClocksAt(this.#options.predictor.spec, memClockMhz)!
    this.#controller = new PublishedController(
      fitPublishedLaw(this.#clocksMhz, this.#powers(tenants, memClockMhz)),
      this.#powerCapW,
    )
    this.#usedClockMhz = smClockMhz
    return { tenants, memClockMhz, smClockMhz }
  }

  #powers(tenants: readonly Tenant[], memClockMhz: number): number[] {
    return this.#clocksMhz.map(
      (smClockMhz) => this.#options.predictor.predict({ tenants, smClockMhz, memClockMhz }).powerW,
    )
  }
}

import type { Service } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { boardLimit } from '../board-limit.js'
import { SafeSmClock } from '../tuned-form.js'
import type { ServicesBaselineOptions, ServicesStart } from './services-start.js'

export interface ServicesUnderLimitOptions extends ServicesBaselineOptions {
  readonly name: string
  /** How often the limit follows the cap, ms: a power agent looks only so often. Default 0: at once. */
  readonly periodMs?: number
}

/**
 * Services on tenants that are chosen once, under the board's own power limit at the cap: the firmware picks the clock, as high as
 * the limit allows, whatever comes, or up to a clock that the plan locks. New tenants only where other services are to be served, and then all of them.
 */
export class ServicesUnderLimitPolicy implements PowerCapPolicy {
  readonly name: string
  readonly notes: string[] = []
  readonly #options: ServicesUnderLimitOptions
  readonly #smClock: SafeSmClock
  #services: readonly Service[]
  #start: ServicesStart | undefined
  #setW = 0
  #nextRoundMs: number

  constructor(options: ServicesUnderLimitOptions) {
    this.#options = options
    this.name = options.name
    this.#services = options.services
    this.#smClock = new SafeSmClock(options.spec)
    this.#nextRoundMs = options.periodMs ?? 0
  }

  start(powerCapW: number): Action {
    this.#start = this.#options.plan(this.#services, powerCapW)
    const { tenants, memClockMhz } = this.#start
    return { tenants, memClockMhz, ...this.#limit(powerCapW) }
  }

  onCapChange(powerCapW: number): Action | undefined {
    return (this.#options.periodMs ?? 0) === 0 ? this.#limit(powerCapW) : undefined
  }

  onServicesChange(services: readonly Service[]): Action {
    this.#services = services
    return this.start(this.#setW)
  }

  onSample({ timeMs, powerCapW }: SampleObservation): Action | undefined {
    const { periodMs = 0 } = this.#options
    if (periodMs === 0 || timeMs < this.#nextRoundMs) return undefined
    this.#nextRoundMs += periodMs * Math.ceil((timeMs - this.#nextRoundMs + 1) / periodMs)
    return powerCapW === this.#setW ? undefined : this.#limit(powerCapW)
  }

  onWindow(window: WindowObservation): Action | undefined {
    if (this.#start?.locked === true) return undefined
    const smClock = this.#smClock.next(window)
    return 'smClockMhz' in smClock ? smClock : undefined
  }

  #limit(powerCapW: number): Action {
    this.#setW = powerCapW
    const { powerLimitW, note } = boardLimit(this.#options.spec, powerCapW)
    if (note !== undefined && !this.notes.includes(note)) this.notes.push(note)
    return { smClockMhz: this.#smClock.begin(powerCapW, this.#start!), powerLimitW }
  }
}

import type { GpuSpec, Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, WindowObservation } from '@pctodl/scheduler'
import { BatchLimits } from './batch-limits.js'
import { boardLimit } from './board-limit.js'
import { MemoryClockSearch } from './memory-clock-search.js'
import { PublishedMemorySearch } from './published-memory-search.js'

/** Shares, batch sizes and memory clock that a planner chose for a cap. */
export interface DirectCapPlan {
  readonly tenants: readonly Tenant[]
  readonly memClockMhz: number
}

export interface DirectCapOptions {
  readonly spec: GpuSpec
  /** The network of all tenants in the plan. */
  readonly model: string
  /** The planner. `start` and `onCapChange` throw its errors, e.g. InfeasibleCapError. */
  readonly plan: (powerCapW: number) => DirectCapPlan
  /** Default `fair`. */
  readonly variant?: 'fair' | 'published'
  /** Whether caps follow a schedule. If so, the published form sets its first limit only after the first window. */
  readonly scheduled?: boolean
}

/**
 * A planned partition whose cap the board itself keeps: the SM clock is unlocked, and the board's power limit is at the
 * cap.
 *
 * `published` keeps three flaws of the Python code. It drops fractions of a watt. It sets the first limit of a schedule
 * one window late. With a fixed cap, on boards with more than one memory clock, it searches for a memory clock without
 * regard to power.
 */
export class DirectCapPolicy implements PowerCapPolicy {
  readonly name = 'directcap'
  /** Notes for reports on what the board could not do. */
  readonly notes: string[] = []
  readonly #options: DirectCapOptions
  readonly #limits = new BatchLimits()
  #search: MemoryClockSearch | undefined
  #publishedSearch: PublishedMemorySearch | undefined
  /** Power limit that the published form sets after the first window, W. */
  #lateLimitW: number | undefined
  #tenants: readonly Tenant[] = []
  #memClockMhz = 0

  constructor(options: DirectCapOptions) {
    this.#options = options
  }

  start(powerCapW: number): Action {
    const action = this.#adopt(powerCapW)
    const { spec, variant, scheduled = false } = this.#options
    if (variant !== 'published') return action
    // The published form locks the highest memory clock. It sets no lock on boards with a single memory clock.
    const several = spec.performanceMemClocksMhz.length > 1
    const highest = Math.max(...spec.performanceMemClocksMhz)
    this.#memClockMhz = highest
    if (several && !scheduled) this.#publishedSearch = new PublishedMemorySearch(spec.performanceMemClocksMhz, highest)
    const { powerLimitW, ...rest } = action
    if (scheduled) this.#lateLimitW = powerLimitW
    return { ...rest, memClockMhz: several ? highest : 'unlocked', ...(scheduled ? {} : { powerLimitW: powerLimitW! }) }
  }

  onCapChange(powerCapW: number): Action {
    return this.#adopt(powerCapW)
  }

  onSample(): undefined {}

  onWindow(window: WindowObservation): Action | undefined {
    if (window.tenants.some(({ failure }) => failure !== null)) {
      return this.#limits.learn(window) ? { tenants: this.#limits.apply(this.#tenants) } : undefined
    }
    if (this.#lateLimitW !== undefined) {
      const powerLimitW = this.#lateLimitW
      this.#lateLimitW = undefined
      return { powerLimitW }
    }
    const memClockMhz = this.#nextMemClock(window)
    if (memClockMhz === this.#memClockMhz) return undefined
    this.#memClockMhz = memClockMhz
    return { memClockMhz }
  }

  #nextMemClock(window: WindowObservation): number {
    if (this.#options.variant !== 'published') return this.#search!.next(window)
    return this.#publishedSearch?.next(window) ?? this.#memClockMhz
  }

  #adopt(powerCapW: number): Action {
    const { spec, plan, variant } = this.#options
    const { tenants, memClockMhz } = plan(powerCapW)
    this.#search ??= new MemoryClockSearch(spec.performanceMemClocksMhz, memClockMhz)
    this.#search.restart(memClockMhz)
    this.#tenants = tenants
    this.#memClockMhz = memClockMhz
    const { powerLimitW, note } = boardLimit(spec, variant === 'published' ? Math.trunc(powerCapW) : powerCapW)
    if (note !== undefined) this.notes.push(note)
    return { tenants: this.#limits.apply(tenants), memClockMhz, smClockMhz: 'unlocked', powerLimitW }
  }
}

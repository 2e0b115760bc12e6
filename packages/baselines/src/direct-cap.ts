import type { GpuSpec, Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, WindowObservation } from '@pctodl/scheduler'
import { BatchLimits } from './batch-limits.js'
import { boardLimit } from './board-limit.js'
import { MemoryClockSearch } from './memory-clock-search.js'
import type { BaselineVariant } from './network-figures.js'
import { PublishedMemorySearch } from './published-memory-search.js'
import { type ClockPlanner, nameOf, plannerOf, SafeSmClock } from './tuned-form.js'

/** Shares, batch sizes and memory clock that a planner finds for a cap. */
export interface DirectCapPlan {
  readonly tenants: readonly Tenant[]
  readonly memClockMhz: number
}

export interface DirectCapOptions {
  readonly spec: GpuSpec
  /** The network served; the plan's tenants carry it too. */
  readonly model: string
  /** The planner. What it throws, e.g. InfeasibleCapError, passes through `start` and `onCapChange`. */
  readonly plan: (powerCapW: number) => DirectCapPlan
  /** Default `fair`. */
  readonly variant?: BaselineVariant
  /** The SM clock of the tuned form where the board's limit does not hold yet or at all; needed there, not looked at elsewhere. */
  readonly planClocks?: ClockPlanner
  /** Whether the caps follow a schedule: the published form then sets its first limit only after the first window. */
  readonly scheduled?: boolean
}

/**
 * A planned partition, while the board itself holds the cap: SM clock unlocked, board power limit at the cap.
 *
 * `tuned` starts and steps at a planned SM clock, and keeps it where the cap lies below the board's lowest limit, which alone would
 * not hold it.
 * `published` keeps what upstream's code does: fractions of a watt dropped, a first limit of a schedule that comes a window
 * late, and a search over memory clocks that ignores power, for fixed caps on boards with more than one memory clock.
 */
export class DirectCapPolicy implements PowerCapPolicy {
  readonly name: string
  /** What the board could not do, for reports. */
  readonly notes: string[] = []
  readonly #options: DirectCapOptions
  readonly #limits = new BatchLimits()
  readonly #planClocks: ClockPlanner | undefined
  readonly #smClock: SafeSmClock
  #search: MemoryClockSearch | undefined
  #publishedSearch: PublishedMemorySearch | undefined
  /** Limit that the published form still owes. */
  #lateLimitW: number | undefined
  #tenants: readonly Tenant[] = []
  #memClockMhz = 0

  /** @throws InvalidInputError for a tuned form without a planner of clocks */
  constructor(options: DirectCapOptions) {
    this.#options = options
    this.name = nameOf('directcap', options.variant)
    this.#planClocks = plannerOf(options.variant, options.planClocks)
    this.#smClock = new SafeSmClock(options.spec)
  }

  start(powerCapW: number): Action {
    const action = this.#adopt(powerCapW)
    const { spec, variant, scheduled = false } = this.#options
    if (variant !== 'published') return action
    // It locks the highest memory clock and leaves boards with a single one alone.
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
    const smClock = this.#smClock.next(window)
    const memClockMhz = this.#nextMemClock(window)
    if (memClockMhz === this.#memClockMhz) return 'smClockMhz' in smClock ? smClock : undefined
    this.#memClockMhz = memClockMhz
    return { ...smClock, memClockMhz }
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
    const fitting = this.#limits.apply(tenants)
    const smClockMhz = this.#planClocks
      ? this.#smClock.begin(powerCapW, this.#planClocks(fitting, powerCapW))
      : 'unlocked'
    return { tenants: fitting, memClockMhz, smClockMhz, powerLimitW }
  }
}

import type { GpuSpec, Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, WindowObservation } from '@pctodl/scheduler'
import { BatchLimits } from './batch-limits.js'
import { boardLimit } from './board-limit.js'
import { MemoryClockSearch } from './memory-clock-search.js'

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
}

/** A planned partition, while the board itself holds the cap: SM clock unlocked, board power limit at the cap. */
export class DirectCapPolicy implements PowerCapPolicy {
  readonly name = 'directcap'
  /** What the board could not do, for reports. */
  readonly notes: string[] = []
  readonly #options: DirectCapOptions
  readonly #limits = new BatchLimits()
  #search: MemoryClockSearch | undefined
  #tenants: readonly Tenant[] = []
  #memClockMhz = 0

  constructor(options: DirectCapOptions) {
    this.#options = options
  }

  start(powerCapW: number): Action {
    return this.#adopt(powerCapW)
  }

  onCapChange(powerCapW: number): Action {
    return this.#adopt(powerCapW)
  }

  onSample(): undefined {}

  onWindow(window: WindowObservation): Action | undefined {
    if (window.tenants.some(({ failure }) => failure !== null)) {
      return this.#limits.learn(window) ? { tenants: this.#limits.apply(this.#tenants) } : undefined
    }
    const memClockMhz = this.#search!.next(window)
    if (memClockMhz === this.#memClockMhz) return undefined
    this.#memClockMhz = memClockMhz
    return { memClockMhz }
  }

  #adopt(powerCapW: number): Action {
    const { spec, plan } = this.#options
    const { tenants, memClockMhz } = plan(powerCapW)
    this.#search ??= new MemoryClockSearch(spec.performanceMemClocksMhz, memClockMhz)
    this.#search.restart(memClockMhz)
    this.#tenants = tenants
    this.#memClockMhz = memClockMhz
    const { powerLimitW, note } = boardLimit(spec, powerCapW)
    if (note !== undefined) this.notes.push(note)
    return { tenants: this.#limits.apply(tenants), memClockMhz, smClockMhz: 'unlocked', powerLimitW }
  }
}

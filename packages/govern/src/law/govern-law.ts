import { type GpuSpec, smClocksAt, type Telemetry } from '@pctodl/platform'
import { CapLaw } from '@pctodl/scheduler'
import type { ServiceSample } from '../metrics/service-sample.js'
import { BoardPower } from './board-power.js'
import { GovernedService, type ServiceGoal } from './governed-service.js'

export interface GovernLawOptions {
  readonly spec: GpuSpec
  readonly services: readonly ServiceGoal[]
  /** Power cap, W. Default: only the board's own limit applies. */
  readonly powerCapW?: number | undefined
}

/** Observations since the last step. */
export interface GovernInput {
  readonly timeMs: number
  /** One sample per service; null if the service's server does not answer. */
  readonly samples: readonly (ServiceSample | null)[]
  readonly telemetry: Telemetry
}

export interface GovernDecision {
  /** The clock to lock, MHz; null returns to the operator's clock settings. */
  readonly smClockMhz: number | null
  readonly reason: string
}

/**
 * If no clock meets the objective, a clock suffices whose attainment is below that of the highest clock by at most this
 * fraction of the aimed share of late requests.
 */
const GIVEN_UP = 0.6
/**
 * The clock falls only by more than `BAND_STATES` states, and by at most the share `LARGEST_FALL`, so that the clocks
 * in between are measured.
 */
const BAND_STATES = 2
const LARGEST_FALL = 0.15
/**
 * After a change of the clock, the next fall waits for this time, ms, so that intervals are measured at the new clock.
 */
const SETTLE_MS = 1000

/**
 * Chooses the lowest SM clock at which every service meets its objective and drains its queue, by the counters of its
 * server. The clock rises at once and falls in steps. If no clock suffices, the law chooses the lowest clock that
 * answers almost as many requests in time as the highest.
 */
export class GovernLaw {
  readonly services: readonly GovernedService[]
  readonly power: BoardPower
  readonly #spec: GpuSpec
  readonly #cap: CapLaw
  readonly #powerCapW: number | undefined
  #clocks: readonly number[]
  #changedMs = 0
  #timeMs: number | null = null
  #energyJ: number | null = null
  /** The SM clock at the last step, MHz. */
  #ranMhz: number | null = null
  #smClockMhz: number | null = null

  constructor({ spec, services, powerCapW }: GovernLawOptions) {
    this.#spec = spec
    this.#powerCapW = powerCapW
    this.#cap = new CapLaw(spec)
    this.#clocks = this.#clocksAt(spec.performanceMemClocksMhz[0]!)!
    const topMhz = this.#clocks.at(-1)!
    this.services = services.map((goal) => new GovernedService(goal, topMhz))
    this.power = new BoardPower(spec, services.length)
  }

  step({ timeMs, samples, telemetry }: GovernInput): GovernDecision {
    const seconds = this.#timeMs === null ? 0 : (timeMs - this.#timeMs) / 1000
    this.#timeMs = timeMs
    const memClockMhz = telemetry.memClockMhz ?? this.#spec.performanceMemClocksMhz[0]!
    this.#clocks = this.#clocksAt(memClockMhz) ?? this.#clocks
    const clockMhz = telemetry.smClockMhz ?? this.#smClockMhz
    const isSteady = clockMhz === this.#ranMhz
    this.#ranMhz = clockMhz
    const busyShare = (telemetry.smUtilPercent ?? 0) / 100
    this.services.forEach((service, i) => {
      const sample = samples[i]
      if (sample && seconds > 0) service.update(sample, timeMs, { seconds, clockMhz, isSteady, busyShare })
      else service.rebase(sample ?? null)
    })
    this.#readPower(telemetry, seconds, clockMhz)
    if (!this.services.every(({ forecast }) => forecast.known)) return { smClockMhz: null, reason: 'learning' }
    return this.#choose(timeMs, memClockMhz, clockMhz)
  }

  /** Records that the operator's clock settings are in force again. The next choice starts from the present clock. */
  release(): void {
    this.#smClockMhz = null
  }

  /** Clocks up to the boost clock, because firmware exceeds it only if a higher clock is locked. */
  #clocksAt(memClockMhz: number): readonly number[] | undefined {
    return smClocksAt(this.#spec, memClockMhz)?.filter((clock) => clock <= this.#spec.boostClockMhz)
  }

  #readPower(telemetry: Telemetry, seconds: number, clockMhz: number | null): void {
    const { energyJ, powerAverageW, timeMs } = telemetry
    const work = this.services.map((service) => service.work)
    if (clockMhz !== null && seconds > 0) {
      const isCounted = energyJ !== null && this.#energyJ !== null && energyJ >= this.#energyJ
      const joules = isCounted ? energyJ - this.#energyJ! : powerAverageW === null ? null : powerAverageW * seconds
      if (joules !== null) this.power.observe({ joules, seconds, smClockMhz: clockMhz, work })
    }
    this.#energyJ = energyJ
    this.#cap.read(timeMs, telemetry, clockMhz === null ? null : this.power.predict(clockMhz, work))
  }

  #choose(timeMs: number, memClockMhz: number, clockMhz: number | null): GovernDecision {
    const clocks = this.#clocks
    const topMhz = clocks.at(-1)!
    const present = this.#smClockMhz ?? Math.min(topMhz, clockMhz ?? topMhz)
    let { smClockMhz: chosenMhz, reason } = this.#need()
    if (chosenMhz < present) {
      const shownAfterMs = Math.max(...this.services.map(({ forecast }) => forecast.shownAfterMs))
      const isSettled = timeMs - this.#changedMs >= SETTLE_MS + shownAfterMs
      const lowest = clocks.find((clock) => clock >= present * (1 - LARGEST_FALL))!
      const isNear = clocks.indexOf(present) - clocks.indexOf(chosenMhz) <= BAND_STATES
      chosenMhz = isNear || !isSettled ? present : Math.max(lowest, chosenMhz)
    }
    if (this.#powerCapW !== undefined) {
      const powerAt = (clock: number) =>
        this.power.predict(
          clock,
          this.services.map(({ forecast, now }) => forecast.workAt(clock, now)),
        )
      const ceilingMhz = this.#cap.ceilingMhz(memClockMhz, this.#powerCapW, chosenMhz, powerAt)
      if (ceilingMhz < chosenMhz) reason = 'cap'
      chosenMhz = Math.min(chosenMhz, ceilingMhz)
    }
    if (chosenMhz !== this.#smClockMhz) this.#changedMs = timeMs
    this.#smClockMhz = chosenMhz
    return { smClockMhz: chosenMhz, reason }
  }

  /**
   * The clock needed for the predicted loads. The load to prepare for can raise the clock only up to the efficiency
   * knee; a clock above the knee must be needed by the present load.
   */
  #need(): Need {
    const ahead = this.#lowest('ahead')
    if (ahead.smClockMhz <= this.power.kneeMhz) return ahead
    const now = this.#lowest('now')
    const kneeMhz = this.#clocks.findLast((clock) => clock <= this.power.kneeMhz) ?? this.#clocks[0]!
    return now.smClockMhz > kneeMhz ? now : { smClockMhz: kneeMhz, reason: 'knee' }
  }

  /**
   * Returns the lowest sufficient clock for the present load or the load ahead, and why a lower one is insufficient.
   */
  #lowest(load: 'now' | 'ahead'): Need {
    const clocks = this.#clocks
    const goals = this.services.map((service) => {
      const arrivals = service[load]
      const best = service.forecast.attainmentAt(clocks.at(-1)!, arrivals)
      return { service, arrivals, wanted: Math.min(1 - service.aimedLate, best - GIVEN_UP * service.aimedLate) }
    })
    const lackingAt = (smClockMhz: number) => {
      for (const { service, arrivals, wanted } of goals) {
        const { name } = service.goal
        if (service.forecast.attainmentAt(smClockMhz, arrivals) < wanted) return `latency of ${name}`
        if (!service.drainsAt(smClockMhz, load === 'now' ? 1 : 0.5)) return `backlog of ${name}`
      }
      return null
    }
    let reason = 'lowest clock'
    let high = clocks.length - 1
    let low = -1
    while (high - low > 1) {
      const middle = (low + high) >> 1
      const lacking = lackingAt(clocks[middle]!)
      if (lacking === null) high = middle
      else {
        low = middle
        reason = lacking
      }
    }
    return { smClockMhz: clocks[high]!, reason }
  }
}

interface Need {
  readonly smClockMhz: number
  readonly reason: string
}

import { type GpuSpec, smClocksAt, type Telemetry } from '@pctodl/platform'
import { CapLaw } from '@pctodl/scheduler'
import type { ServiceSample } from '../metrics/service-sample.js'
import { EnergyLedger } from './energy-ledger.js'
import { PowerFit } from './power-fit.js'
import { type GovernedService, ServiceForecast } from './service-forecast.js'

export interface GovernLawOptions {
  readonly spec: GpuSpec
  readonly services: readonly GovernedService[]
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

/** The chosen clock may use this share of the late requests that the objective allows. */
const AIM = 0.5
/** If no clock meets the objective, a lower clock may cost this much attainment compared with the highest clock. */
const GIVEN_UP = 0.003
/** The clock falls only by more than `BAND_STATES` states. A fall is limited, so that the clocks between are measured. */
const BAND_STATES = 2
const LARGEST_FALL = 0.15
/**
 * After the clock was raised to the highest, late requests count as unavoidable only after this time, ms. Before, the
 * lower clock may have caused them.
 */
const EXCUSED_MS = 2000
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
  readonly services: readonly ServiceForecast[]
  readonly power: PowerFit
  readonly energy: EnergyLedger
  readonly #spec: GpuSpec
  readonly #cap: CapLaw
  readonly #powerCapW: number | undefined
  #clocks: readonly number[]
  #changedMs = 0
  #belowTopMs = Number.NEGATIVE_INFINITY
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
    this.services = services.map((service) => new ServiceForecast(service, topMhz))
    this.power = new PowerFit(spec, services.length)
    this.energy = new EnergyLedger(this.power, services.length)
  }

  step({ timeMs, samples, telemetry }: GovernInput): GovernDecision {
    const seconds = this.#timeMs === null ? 0 : (timeMs - this.#timeMs) / 1000
    this.#timeMs = timeMs
    const memClockMhz = telemetry.memClockMhz ?? this.#spec.performanceMemClocksMhz[0]!
    this.#clocks = this.#clocksAt(memClockMhz) ?? this.#clocks
    const clockMhz = telemetry.smClockMhz ?? this.#smClockMhz
    const isSteady = clockMhz === this.#ranMhz
    this.#ranMhz = clockMhz
    const atTop = this.#smClockMhz === null || this.#smClockMhz === this.#clocks.at(-1)
    if (!atTop) this.#belowTopMs = timeMs
    const excused = timeMs - this.#belowTopMs > EXCUSED_MS + this.#shownAfterMs
    this.services.forEach((service, i) => {
      const sample = samples[i]
      const busyShare = (telemetry.smUtilPercent ?? 0) / 100
      const interval = { timeMs, seconds, clockMhz, isSteady, busyShare, excused }
      if (sample && seconds > 0) service.update(sample, interval)
      else service.rebase(sample ?? null)
    })
    this.#readPower(telemetry, seconds, clockMhz)
    if (!this.services.every(({ known }) => known)) return { smClockMhz: null, reason: 'learning' }
    return this.#choose(timeMs, memClockMhz, clockMhz)
  }

  get #shownAfterMs(): number {
    return Math.max(...this.services.map(({ shownAfterMs }) => shownAfterMs))
  }

  /** Clocks up to the boost clock, because firmware exceeds it only if a higher clock is locked. */
  #clocksAt(memClockMhz: number): readonly number[] | undefined {
    return smClocksAt(this.#spec, memClockMhz)?.filter((clock) => clock <= this.#spec.boostClockMhz)
  }

  /** Records that the operator's clock settings are in force again. The next choice starts from the present clock. */
  release(): void {
    this.#smClockMhz = null
  }

  #readPower(telemetry: Telemetry, seconds: number, clockMhz: number | null): void {
    const { energyJ, powerAverageW, timeMs } = telemetry
    const work = this.services.map((service) => service.work)
    if (clockMhz !== null && seconds > 0) {
      const meteredW =
        energyJ !== null && this.#energyJ !== null && energyJ >= this.#energyJ
          ? (energyJ - this.#energyJ) / seconds
          : powerAverageW
      if (meteredW !== null) {
        this.power.observe(clockMhz, seconds, work, meteredW)
        this.energy.add({ joules: meteredW * seconds, seconds, smClockMhz: clockMhz, work })
      }
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
      const isSettled = timeMs - this.#changedMs >= SETTLE_MS + this.#shownAfterMs
      const lowest = clocks.find((clock) => clock >= present * (1 - LARGEST_FALL))!
      const isNear = clocks.indexOf(present) - clocks.indexOf(chosenMhz) <= BAND_STATES
      chosenMhz = isNear || !isSettled ? present : Math.max(lowest, chosenMhz)
    }
    if (this.#powerCapW !== undefined) {
      const ceilingMhz = this.#cap.ceilingMhz(memClockMhz, this.#powerCapW, chosenMhz, (clock) => this.#powerAt(clock))
      if (ceilingMhz < chosenMhz) reason = 'cap'
      chosenMhz = Math.min(chosenMhz, ceilingMhz)
    }
    if (chosenMhz !== this.#smClockMhz) this.#changedMs = timeMs
    this.#smClockMhz = chosenMhz
    return { smClockMhz: chosenMhz, reason }
  }

  /** Predicted power at a clock and the present arrival rates, W. */
  #powerAt(smClockMhz: number): number {
    return this.power.predict(
      smClockMhz,
      this.services.map((service) => service.workAt(smClockMhz, service.rates[1])),
    )
  }

  /**
   * The clock needed for the predicted loads. The cautious load can raise the clock only up to the efficiency knee; a
   * clock above the knee must be needed by the present load.
   */
  #need(): Need {
    const cautious = this.#lowest(true)
    if (cautious.smClockMhz <= this.power.kneeMhz) return cautious
    const now = this.#lowest(false)
    const kneeMhz = this.#clocks.findLast((clock) => clock <= this.power.kneeMhz) ?? this.#clocks[0]!
    return now.smClockMhz > kneeMhz ? now : { smClockMhz: kneeMhz, reason: 'knee' }
  }

  /**
   * The lowest sufficient clock, and the constraint that prevents a lower one.
   *
   * @param ready whether to plan for the load with caution instead of the present load
   */
  #lowest(ready: boolean): Need {
    const clocks = this.#clocks
    const goals = this.services.map((service) => {
      const ratePerS = service.rates[ready ? 0 : 1]
      const target = 1 - AIM * (1 - service.service.attainment)
      return { ratePerS, wanted: Math.min(target, service.attainmentAt(clocks.at(-1)!, ratePerS) - GIVEN_UP) }
    })
    const lackingAt = (smClockMhz: number) => {
      for (const [i, service] of this.services.entries()) {
        const { ratePerS, wanted } = goals[i]!
        const { name } = service.service
        if (service.attainmentAt(smClockMhz, ratePerS) < wanted) return `latency of ${name}`
        if (!service.drainsAt(smClockMhz, ready ? 0.5 : 1)) return `backlog of ${name}`
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

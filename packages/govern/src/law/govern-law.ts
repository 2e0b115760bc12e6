import { type GpuSpec, smClocksAt, type Telemetry } from '@pctodl/platform'
import { CapLaw } from '@pctodl/scheduler'
import type { ServiceSample } from '../metrics/service-sample.js'
import { BoardPower } from './board-power.js'
import type { GovernedService, ServiceGoal } from './governed-service.js'
import { HistogramService } from './histogram-service.js'
import { QueueService } from './queue-service.js'

export interface GovernLawOptions {
  readonly spec: GpuSpec
  readonly services: readonly ServiceGoal[]
  /** W. Default: only the board's own limit applies. */
  readonly powerCapW?: number | undefined
}

interface NeededClock {
  readonly smClockMhz: number
  readonly reason: string
}

/** The clock to lock, MHz, and why; null returns to the operator's clock settings. */
export type GovernDecision = NeededClock | { readonly smClockMhz: null; readonly reason: string }

/** If no clock suffices, attainment may be below that of the highest clock by this fraction of the aimed late share. */
const GIVEN_UP = 0.6
/** The clock falls by more than `BAND_STATES` states, and by a limited share, so that the clocks between are measured. */
const BAND_STATES = 2
const LARGEST_FALL = 0.15
/** After a change of the clock, the next fall waits for this time, ms, so that the new clock is measured. */
const SETTLE_MS = 1000

/**
 * Chooses the lowest SM clock at which every service meets its objective and drains its queue. If no clock suffices, it
 * chooses the lowest that answers almost as many requests in time as the highest.
 */
export class GovernLaw {
  readonly services: readonly GovernedService[]
  readonly power: BoardPower
  readonly #cap: CapLaw
  readonly #powerCapW: number | undefined
  readonly #memClockMhz: number
  readonly #clocks: readonly number[]
  #changedMs = 0
  #before: Telemetry | null = null
  #smClockMhz: number | null = null

  constructor({ spec, services, powerCapW }: GovernLawOptions) {
    this.#cap = new CapLaw(spec)
    this.#powerCapW = powerCapW
    this.#memClockMhz = spec.performanceMemClocksMhz[0]!
    // Firmware exceeds the boost clock only if a higher clock is locked.
    this.#clocks = smClocksAt(spec, this.#memClockMhz)!.filter((clock) => clock <= spec.boostClockMhz)
    const topMhz = this.#clocks.at(-1)!
    this.services = services.map(
      (goal): GovernedService =>
        goal.limits === null ? new HistogramService(goal, topMhz) : new QueueService(goal, goal.limits, topMhz),
    )
    this.power = new BoardPower(spec, services.length)
  }

  /** @param samples one per service; null if the service's server does not answer */
  step(samples: readonly (ServiceSample | null)[], telemetry: Telemetry): GovernDecision {
    const { timeMs, energyJ, powerAverageW } = telemetry
    const before = this.#before ?? telemetry
    this.#before = telemetry
    const seconds = (timeMs - before.timeMs) / 1000
    // Some drivers report 0 while the board sleeps.
    const clockMhz = (telemetry.smClockMhz || this.#smClockMhz) ?? this.#clocks.at(-1)!
    const busyShare = (telemetry.smUtilPercent ?? 0) / 100
    this.services.forEach((service, i) => {
      service.update(samples[i]!, timeMs, { seconds, clockMhz, busyShare })
    })
    const work = this.services.map((service) => service.work)
    const isCounted = energyJ !== null && before.energyJ !== null && energyJ >= before.energyJ
    const joules = isCounted ? energyJ - before.energyJ : powerAverageW === null ? null : powerAverageW * seconds
    if (seconds > 0 && joules !== null) this.power.observe(joules, seconds, clockMhz, work)
    this.#cap.read(timeMs, telemetry, this.power.predict(clockMhz, work))
    if (!this.services.every(({ known }) => known)) return { smClockMhz: null, reason: 'learning' }
    return this.#choose(timeMs, clockMhz)
  }

  /** Predicted power of the board at a clock and the present load, W. */
  predictW(smClockMhz: number): number {
    const work = this.services.map((service) => service.workAt(smClockMhz))
    return this.power.predict(smClockMhz, work)
  }

  /** The operator's clock settings are in force again: the next choice starts from the present clock. */
  release(): void {
    this.#smClockMhz = null
  }

  #choose(timeMs: number, clockMhz: number): GovernDecision {
    const present = this.#smClockMhz ?? this.#clocks.findLast((clock) => clock <= clockMhz) ?? this.#clocks[0]!
    let { smClockMhz: chosenMhz, reason } = this.#need()
    if (chosenMhz < present) {
      const isSettled = timeMs - this.#changedMs >= SETTLE_MS
      const isNear = this.#clocks.indexOf(present) - this.#clocks.indexOf(chosenMhz) <= BAND_STATES
      const nextMhz = this.#clocks.find((clock) => clock >= present * (1 - LARGEST_FALL))!
      chosenMhz = isNear || !isSettled ? present : Math.max(nextMhz, chosenMhz)
    }
    if (this.#powerCapW !== undefined) {
      const ceilingMhz = this.#cap.ceilingMhz(this.#memClockMhz, this.#powerCapW, chosenMhz, this.predictW.bind(this))
      if (ceilingMhz < chosenMhz) reason = 'cap'
      chosenMhz = Math.min(chosenMhz, ceilingMhz)
    }
    if (chosenMhz !== this.#smClockMhz) this.#changedMs = timeMs
    this.#smClockMhz = chosenMhz
    return { smClockMhz: chosenMhz, reason }
  }

  /** The load to prepare for can raise the clock only up to the efficiency knee; the present load, above it. */
  #need(): NeededClock {
    const ahead = this.#lowest(({ aheadPerS }) => aheadPerS)
    if (ahead.smClockMhz <= this.power.kneeMhz) return ahead
    const now = this.#lowest(({ rate }) => rate.perS)
    const kneeMhz = this.#clocks.findLast((clock) => clock <= this.power.kneeMhz) ?? this.#clocks[0]!
    return now.smClockMhz > kneeMhz ? now : { smClockMhz: kneeMhz, reason: 'knee' }
  }

  /** The lowest sufficient clock for a load, and the service that prevents a lower one. */
  #lowest(perSOf: (service: GovernedService) => number): NeededClock {
    const clocks = this.#clocks
    const goals = this.services.map((service) => {
      const { aimedLate } = service
      const perS = perSOf(service)
      const attainmentAt = (clock: number) => service.attainmentAt(clock, perS)
      const wanted = Math.min(1 - aimedLate, attainmentAt(clocks.at(-1)!) - GIVEN_UP * aimedLate)
      return { name: service.goal.name, attainmentAt, wanted }
    })
    let reason = 'lowest clock'
    let [low, high] = [-1, clocks.length - 1]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      const lacking = goals.find(({ attainmentAt, wanted }) => attainmentAt(clocks[middle]!) < wanted)
      if (lacking === undefined) high = middle
      else {
        low = middle
        reason = `latency of ${lacking.name}`
      }
    }
    return { smClockMhz: clocks[high]!, reason }
  }
}

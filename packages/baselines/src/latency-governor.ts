import type { GpuSpec, Service } from '@pctodl/platform'
import type { ClockPlan, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { indexAtMost } from './clock-table.js'
import { FeedbackClock } from './feedback-clock.js'

/**
 * If any service's p99 is above this fraction of its objective, the clock rises. It falls while all are below the
 * fraction `ROOM`.
 */
const TOO_NEAR = 0.9
const ROOM = 0.7
const UP = 1.25
const DOWN = 0.95
/**
 * If more requests of a service wait than fit into this many of its largest batches, the clock goes at once to the
 * highest that is allowed.
 */
const LONG_QUEUE = 2

/**
 * The simplest way to save energy under a latency objective, as Rubik and Gemini do for processors. After each window,
 * it lowers the clock a little if every p99 is well within its objective, and raises it by more if any p99 is close to
 * its objective. It does not predict anything.
 */
export class LatencyGovernor extends FeedbackClock {
  #mhz = 0

  constructor() {
    super({ step: true })
  }

  override begin(spec: GpuSpec, planned: ClockPlan, powerCapW: number, newTenants: boolean): number {
    const plannedMhz = super.begin(spec, planned, powerCapW, newTenants)
    const highestMhz = newTenants ? plannedMhz : Math.min(plannedMhz, this.#mhz)
    this.#mhz = this.clocksMhz[indexAtMost(this.clocksMhz, highestMhz)]!
    return this.#mhz
  }

  override onSample(sample: SampleObservation, services: readonly Service[]): number | undefined {
    super.onSample(sample, services)
    const queues =
      sample.services?.map(({ service, queued }) => queued / (of(services, service)?.maxBatchSize ?? Infinity)) ?? []
    return this.#goTo(Math.max(0, ...queues) > LONG_QUEUE ? this.ceilingMhz : this.#mhz)
  }

  override onWindow(
    { services: seen = [], reconfigured }: WindowObservation,
    services: readonly Service[],
  ): number | undefined {
    if (reconfigured) return undefined
    const nearness = seen.map(({ service, p99Ms, shed, failed, queued }) => {
      if (shed > 0 || failed > 0 || (p99Ms === null && queued > 0)) return Number.POSITIVE_INFINITY
      return (p99Ms ?? 0) / (of(services, service)?.objective.p99Ms ?? Infinity)
    })
    const nearest = Math.max(0, ...nearness)
    return this.#goTo(nearest > TOO_NEAR ? UP * this.#mhz : nearest < ROOM ? DOWN * this.#mhz : this.#mhz)
  }

  /**
   * Chooses the highest clock that exceeds neither `mhz` nor the ceiling.
   *
   * @returns the new clock, MHz; undefined if it is already in force
   */
  #goTo(mhz: number): number | undefined {
    const next = this.clocksMhz[indexAtMost(this.clocksMhz, Math.min(mhz, this.ceilingMhz))]!
    if (next === this.#mhz) return undefined
    this.#mhz = next
    return next
  }
}

/**
 * Finds a service by name.
 *
 * @returns undefined for a service that is being removed
 */
function of(services: readonly Service[], name: string): Service | undefined {
  return services.find((service) => service.name === name)
}

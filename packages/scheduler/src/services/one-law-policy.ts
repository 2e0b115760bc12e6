import type { PerfModel } from '@pctodl/perf-model'
import { assertServices, InvalidInputError, type Service, type Tenant } from '@pctodl/platform'
import { backStop } from '../pctodl/back-stop.js'
import { TenantRevival } from '../pctodl/tenant-revival.js'
import type { Action, AppliedState, Decision, PowerCapPolicy, SampleObservation, WindowObservation } from '../policy.js'
import { CapCeiling } from './cap-ceiling.js'
import { planWithModel } from './plan-with-model.js'
import { makeRoomFor } from './room-for-service.js'
import { ServiceWatch } from './service-watch.js'
import type { ServicesPlan, ServicesPlanner } from './services-planner.js'
import { ServingClocks } from './serving-clocks.js'
import { letIn } from './shedding.js'

export interface OneLawOptions {
  readonly model: PerfModel
  readonly services: readonly Service[]
  /** Requests/s to begin with, by name; afterwards they are measured. A service that is not named begins with 1. */
  readonly expectedPerS: Readonly<Record<string, number>>
  /** Default: `planWithModel`. */
  readonly plan?: ServicesPlanner
}

/** Part of its objective that the last request in a queue may wait. */
const DRAIN = 0.5
/** Share of the cap that the last second draws before anything is turned away. */
const AT_CAP = 0.95
/** What is let in follows this often, ms. */
const SHED_MS = 500
/** The memory clock is weighed this often, ms, and changed for so much less power. */
const MEMORY_MS = 10_000
const MEMORY_GAIN = 0.03
/** The mix of so many seconds is what tenants are planned for. */
const MIX_S = 10
/** A mix that the tenants do not bear is planned for again this often, ms, where the plan bears so much more. */
const REPLAN_MS = 10_000
const REPLAN_GAIN = 1.1
const SAME_SHARE = 0.02

interface Wanted {
  readonly smClockMhz: number
  readonly reason: string
}

/**
 * The lowest clock at which the predicted p99 and the backlog of every service keep its objective; not lower while a queue grows;
 * the top clock that the cap allows where none does. What cannot be answered then, at the cap or at the top, is turned away by value.
 */
export class OneLawPolicy implements PowerCapPolicy {
  readonly name = 'pctodl'
  readonly #options: OneLawOptions
  readonly #planner: ServicesPlanner
  readonly #ceiling: CapCeiling
  readonly #revival = new TenantRevival()
  readonly #decisions: Decision[] = []
  #watches: readonly ServiceWatch[]
  #clocks!: ServingClocks
  #powerCapW = 0
  #timeMs = 0
  #smClockMhz = 0
  #exhausted = false
  #binding = ''
  #shedMs = 0
  #memoryMs = 0
  #replanMs = 0
  #reconfiguring = true

  /** @throws InvalidInputError for services or rates that are none */
  constructor(options: OneLawOptions) {
    assertServices(options.services)
    for (const [name, rate] of Object.entries(options.expectedPerS)) {
      if (!(rate > 0 && rate < Infinity))
        throw new InvalidInputError(`expectedPerS.${name}`, rate, 'requests/s above 0')
    }
    this.#options = options
    this.#planner = options.plan ?? planWithModel(options.model)
    this.#ceiling = new CapCeiling(options.model.spec)
    this.#watches = options.services.map((service) => this.#watch(service))
  }

  /** @throws InvalidInputError where no tenants serve the services under the cap */
  start(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    const ratesPerS = this.#watches.map(({ rate }) => rate.perS)
    const plan = this.#plan('most-load', ratesPerS) ?? this.#plan('most-value', ratesPerS)
    if (!plan) throw new InvalidInputError('powerCapW', powerCapW, 'a cap under which the services can be served')
    const reason = `tenants for the most load of the mix under ${powerCapW} W`
    return { ...this.#adopt(plan), ...this.#limit(), reason }
  }

  onCapChange(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    return { ...this.#limit(), reason: `new cap ${powerCapW} W` }
  }

  onServicesChange(services: readonly Service[], applied: AppliedState): Action | undefined {
    const before = this.#watches
    this.#watches = services.map((service) => {
      const known = before.find((watch) => watch.service.name === service.name)
      return known?.service === service ? known : this.#watch(service, known)
    })
    const kept = applied.tenants.filter((tenant) => services.some(({ name }) => name === tenant.service))
    const orphans = this.#watches.filter(({ service }) => !kept.some((tenant) => tenant.service === service.name))
    const ratesPerS = this.#watches.map(({ rate }) => rate.perS)
    const tenants = makeRoomFor(
      kept,
      orphans.map(({ service, rate }) => ({ service, ratePerS: rate.perS })),
      (candidates) => this.#bears(this.#clocksFor(candidates), ratesPerS),
    )
    const same = tenants.length === applied.tenants.length && tenants.every((tenant, i) => tenant === applied.tenants[i])
    const action = this.#adopt({ tenants, memClockMhz: this.#clocks.memClockMhz, smClockMhz: 0 })
    const reason = `services: ${services.map(({ name }) => name).join(', ')}; the others go on`
    return same ? undefined : { ...action, reason }
  }

  onSample(sample: SampleObservation): Action | undefined {
    const { timeMs, services = [], reconfiguring, telemetry, failures } = sample
    this.#timeMs = timeMs
    this.#reconfiguring = reconfiguring
    for (const watch of this.#watches) {
      const reading = services.find(({ service }) => service === watch.service.name)
      if (reading) watch.update(timeMs, reading, reconfiguring || this.#exhausted)
    }
    const { memClockMhz, busyW } = this.#clocks
    const ceilingMhz = this.#ceiling.step(timeMs, this.#powerCapW, telemetry, memClockMhz, busyW)
    const wanted = this.#wanted()
    const clock = this.#clock(wanted, ceilingMhz, sample)
    const admitted = this.#admit(wanted)
    if (!reconfiguring && failures.length > 0 && this.#revival.due(timeMs, failures)) {
      const { tenants } = this.#clocks
      return { ...clock, ...admitted, tenants, reason: `dead tenants are started again: ${failures[0]!.failure}` }
    }
    return { ...clock, ...admitted, ...this.#weighMemory() }
  }

  onWindow(_window: WindowObservation): undefined {}

  /** The search for other tenants, after the clock has been set. */
  onIdle(timeMs: number): Action | undefined {
    if (this.#reconfiguring || timeMs - this.#replanMs < REPLAN_MS) return undefined
    this.#replanMs = timeMs
    const ratesPerS = this.#watches.map(({ rate }) => Math.max(0.1, rate.meanPerS(MIX_S)))
    const bears = this.#bears(this.#clocks, ratesPerS)
    if (bears >= 1) return undefined
    const plan = this.#plan('most-load', ratesPerS)
    if (!plan) return undefined
    const planned = this.#bears(this.#clocksFor(plan.tenants, plan.memClockMhz), ratesPerS)
    const reason = `other tenants bear ${planned.toFixed(2)} times this mix, the present ones ${bears.toFixed(2)}`
    if (planned < REPLAN_GAIN * bears) {
      this.#decide('plan-rejected', reason, { planned, bears })
      return undefined
    }
    return { ...this.#adopt(plan), reason }
  }

  takeDecisions(): readonly Decision[] {
    return this.#decisions.splice(0)
  }

  #watch(service: Service, known?: ServiceWatch): ServiceWatch {
    const { expectedPerS } = this.#options
    // A service may be called as what every object has.
    const expected = Object.hasOwn(expectedPerS, service.name) ? expectedPerS[service.name]! : 1
    return new ServiceWatch(service, expected, known?.rate)
  }

  get #readyPerS(): number[] {
    return this.#watches.map(({ readyPerS }) => readyPerS)
  }

  get #burstiness(): number[] {
    return this.#watches.map(({ rate }) => rate.burstiness)
  }

  /** The law, without the cap; undefined where no clock is enough. */
  #wanted(): Wanted | undefined {
    const rates = this.#readyPerS
    const burstiness = this.#burstiness
    const forRates = this.#clocks.lowest(rates, burstiness)
    if (forRates === undefined) return undefined
    const forBacklog = this.#clocks.lowestWhere((clock) => this.#drains(clock, rates, burstiness))
    if (forBacklog === undefined) return undefined
    const smClockMhz = Math.max(forRates, forBacklog)
    const growing = this.#watches.find(({ grows }) => grows)
    if (growing && smClockMhz < this.#smClockMhz) {
      return { smClockMhz: this.#smClockMhz, reason: `the queue of ${growing.service.name} grows` }
    }
    const reason = forBacklog > forRates ? 'backlog' : 'p99'
    return { smClockMhz, reason }
  }

  /** The last in every queue is taken early enough. */
  #drains(smClockMhz: number, rates: readonly number[], burstiness: readonly number[]): boolean {
    const { services } = this.#clocks.predict(smClockMhz, rates, burstiness)
    return services.every(({ capacityPerS }, i) => {
      const { queued, service } = this.#watches[i]!
      return queued <= service.maxBatchSize || 1000 * queued <= DRAIN * service.objective.p99Ms * capacityPerS
    })
  }

  #clock(wanted: Wanted | undefined, ceilingMhz: number, { applied, smClockRefusedMs }: SampleObservation): Action {
    const top = this.#clocks.smClocksMhz.at(-1)!
    const capped = (wanted?.smClockMhz ?? top) > ceilingMhz
    this.#smClockMhz = capped ? ceilingMhz : (wanted?.smClockMhz ?? top)
    const { secondW } = this.#ceiling
    const atCap = secondW !== null && secondW >= AT_CAP * this.#powerCapW
    this.#exhausted = atCap || (wanted === undefined && this.#smClockMhz === top && applied.smClockMhz === top)
    const rates = this.#watches.map(({ service, rate }) => `${service.name} ${rate.perS.toFixed(0)}/s`).join(', ')
    const binding = capped ? 'cap' : (wanted?.reason ?? 'top')
    const reason = `${binding}: ${rates}`
    if (binding !== this.#binding) this.#decide('clock', reason, { smClockMhz: this.#smClockMhz })
    this.#binding = binding
    if (this.#smClockMhz === applied.smClockMhz && smClockRefusedMs === 0) return {}
    return { smClockMhz: this.#smClockMhz, reason }
  }

  #admit(wanted: Wanted | undefined): Action {
    const shedding = this.#watches.some(({ admitted }) => admitted < 1)
    if (this.#reconfiguring || !this.#exhausted || wanted !== undefined) return shedding ? this.#admitted([]) : {}
    if (this.#timeMs - this.#shedMs < SHED_MS) return {}
    this.#shedMs = this.#timeMs
    const shares = letIn(this.#clocks, {
      services: this.#watches.map(({ service }) => service),
      ratesPerS: this.#readyPerS,
      burstiness: this.#burstiness,
      powerCapW: this.#powerCapW,
      topMhz: this.#clocks.smClocksMhz.at(-1)!,
    })
    return this.#admitted(shares)
  }

  #admitted(shares: readonly number[]): Action {
    const admitted: Record<string, number> = {}
    this.#watches.forEach((watch, i) => {
      const share = shares[i] ?? 1
      if (Math.abs(share - watch.admitted) < SAME_SHARE && !(share === 1 && watch.admitted < 1)) return
      watch.admitted = share
      admitted[watch.service.name] = share
    })
    if (Object.keys(admitted).length === 0) return {}
    const { secondW } = this.#ceiling
    this.#decide('admission', `${secondW?.toFixed(0)} of ${this.#powerCapW} W at ${this.#smClockMhz} MHz`, { admitted })
    return { admitted }
  }

  /** The memory clock at which the present tenants keep the objectives with least power, in the peaks of the last minute too. */
  #weighMemory(): Action | undefined {
    const { model } = this.#options
    if (this.#reconfiguring || this.#timeMs - this.#memoryMs < MEMORY_MS || model.memClocksMhz.length < 2) return undefined
    this.#memoryMs = this.#timeMs
    const rates = this.#readyPerS
    const peaks = this.#watches.map(({ rate, readyPerS }) => Math.max(readyPerS, rate.peakPerS))
    const burstiness = this.#burstiness
    let best: { memClockMhz: number; powerW: number } | undefined
    let presentW = Number.POSITIVE_INFINITY
    for (const memClockMhz of model.memClocksMhz) {
      const present = memClockMhz === this.#clocks.memClockMhz
      const clocks = present ? this.#clocks : this.#clocksFor(this.#clocks.tenants, memClockMhz)
      const forPeaks = clocks.lowest(peaks, burstiness)
      if (forPeaks === undefined || clocks.predict(forPeaks, peaks).powerW > this.#powerCapW) continue
      const { powerW } = clocks.predict(clocks.lowest(rates, burstiness)!, rates, burstiness)
      if (present) presentW = powerW
      if (!best || powerW < best.powerW) best = { memClockMhz, powerW }
    }
    if (!best || best.memClockMhz === this.#clocks.memClockMhz || best.powerW > (1 - MEMORY_GAIN) * presentW) return undefined
    this.#clocks = this.#clocksFor(this.#clocks.tenants, best.memClockMhz)
    const reason = `${best.memClockMhz} MHz memory serves the same with ${best.powerW.toFixed(0)} W for ${presentW.toFixed(0)}`
    this.#decide('memory', reason, {})
    return { memClockMhz: best.memClockMhz, reason }
  }

  #plan(objective: 'most-load' | 'most-value', ratesPerS: readonly number[]): ServicesPlan | undefined {
    const services = this.#watches.map(({ service }) => service)
    return this.#planner({ services, ratesPerS, powerCapW: this.#powerCapW }, objective)
  }

  #clocksFor(tenants: readonly Tenant[], memClockMhz: number = this.#clocks.memClockMhz): ServingClocks {
    const services = this.#watches.map(({ service }) => service)
    return new ServingClocks(this.#options.model, tenants, services, memClockMhz)
  }

  /** The common factor on rates that tenants bear at a clock that keeps the cap at this load. */
  #bears(clocks: ServingClocks, ratesPerS: readonly number[]): number {
    const keeps = (factor: number) => {
      const rates = ratesPerS.map((rate) => factor * Math.max(0.1, rate))
      const clock = clocks.lowest(rates)
      return clock !== undefined && clocks.predict(clock, rates).powerW <= this.#powerCapW
    }
    let low = 0.05
    let high = 4
    while (high / low > 1.03) {
      const middle = Math.sqrt(low * high)
      if (keeps(middle)) low = middle
      else high = middle
    }
    return low
  }

  #adopt({ tenants, memClockMhz }: ServicesPlan): Action {
    this.#clocks = this.#clocksFor(tenants, memClockMhz)
    const top = this.#clocks.smClocksMhz.at(-1)!
    const { busyW, smClocksMhz } = this.#clocks
    const busy = smClocksMhz.findLast((_, i) => busyW[i]! <= this.#powerCapW) ?? smClocksMhz[0]!
    const smClockMhz = this.#ceiling.holdable(this.#powerCapW) ? top : busy
    this.#smClockMhz = smClockMhz
    return { tenants, memClockMhz, smClockMhz }
  }

  #limit(): Action {
    return backStop(this.#options.model.spec, this.#powerCapW, 0)
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, timeMs: this.#timeMs, ...details })
  }
}

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

export interface ServicesPolicyOptions {
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
const AT_CAP = 0.9
/** The clock falls to what was enough for so many samples, where that is lower by more than so many states. */
const HELD_SAMPLES = 10
const BAND_STATES = 2
/** What is let in follows this often, ms, and by so much less each time that a queue is still too long. */
const SHED_MS = 500
const STRICTER = 1.05
const EASIER = 0.99
/** The memory clock is weighed this often, ms, and changed for so much less power. */
const MEMORY_MS = 10_000
const MEMORY_GAIN = 0.03
/** A mix that the present tenants have not borne for so many seconds is planned for: longer than a burst lasts. */
const MIX_S = 10
/** Other tenants are looked for this often, ms, and taken where they bear so much more. */
const REPLAN_MS = 30_000
const REPLAN_GAIN = 1.1
const SAME_SHARE = 0.02

interface Wanted {
  readonly smClockMhz: number
  readonly reason: string
}

/**
 * The lowest clock at which the predicted p99 and the backlog of every service keep its objective, raised at once and lowered
 * when a second agrees; the top clock that the cap allows where none does. What cannot be answered then, at the cap or at the
 * top, is turned away by value.
 */
export class ServicesPolicy implements PowerCapPolicy {
  readonly name = 'pctodl'
  readonly #options: ServicesPolicyOptions
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
  /** Clocks that were enough at the last samples, MHz. */
  readonly #enough: number[] = []
  #heldMhz = 0
  /** No clock was enough at the last sample. */
  #short = false
  #binding = ''
  #shedMs = 0
  #memoryMs = 0
  #replannedMs = 0
  #borneMs = 0
  #strict = 1
  #reconfiguring = true

  /** @throws InvalidInputError for services or rates that are none */
  constructor(options: ServicesPolicyOptions) {
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
    const same =
      tenants.length === applied.tenants.length && tenants.every((tenant, i) => tenant === applied.tenants[i])
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
      if (reading) watch.update(timeMs, reading, reconfiguring || this.#short)
    }
    const { memClockMhz, busyW } = this.#clocks
    const ceilingMhz = this.#ceiling.step(timeMs, this.#powerCapW, telemetry, memClockMhz, busyW)
    const wanted = this.#wanted()
    const clock = this.#clock(wanted, ceilingMhz, sample)
    const memory = this.#weighMemory()
    const admitted = this.#admit()
    if (!reconfiguring && failures.length > 0 && this.#revival.due(timeMs, failures)) {
      const { tenants } = this.#clocks
      this.#decide('tenants-died', failures.map(({ failure }) => failure).join('; '), { failures })
      const reason = `dead tenants are started again, attempt ${this.#revival.attempts}`
      return { ...clock, ...admitted, ...memory, tenants, reason }
    }
    return { ...clock, ...admitted, ...memory }
  }

  onWindow(_window: WindowObservation): undefined {}

  /** The search for other tenants, after the clock has been set. */
  onIdle(timeMs: number): Action | undefined {
    const known = this.#watches.map(({ rate }) => rate.meanPerS(2))
    if (this.#reconfiguring || (timeMs % 1000 < 100 && this.#bear(this.#clocks, known))) this.#borneMs = timeMs
    if (timeMs - this.#borneMs < 1000 * MIX_S || timeMs - this.#replannedMs < REPLAN_MS) return undefined
    this.#replannedMs = timeMs
    const ratesPerS = this.#watches.map(({ rate }) => Math.max(0.1, rate.meanPerS(MIX_S)))
    const plan = this.#plan('most-load', ratesPerS)
    const bears = plan ? this.#bears(this.#clocksFor(plan.tenants, plan.memClockMhz), ratesPerS) : 0
    const load = { gain: bears / this.#bears(this.#clocks, ratesPerS), plan }
    const { gain, plan: better } = bears >= 1 ? load : this.#worthMore(ratesPerS)
    const reason = `other tenants serve ${gain.toFixed(2)} times as much of this mix`
    if (better && gain >= REPLAN_GAIN) return { ...this.#adopt(better), reason }
    this.#decide('plan-rejected', reason, { gain })
    return undefined
  }

  /** Tenants for a mix of which not all can be answered, by the weights of what is. */
  #worthMore(ratesPerS: readonly number[]): { gain: number; plan: ServicesPlan | undefined } {
    const plan = this.#plan('most-value', ratesPerS)
    const answered = plan?.admittedPerS?.map((rate, i) => Math.min(rate, ratesPerS[i]!)) ?? ratesPerS
    return { plan, gain: plan ? this.#worth(answered) / this.#worth(this.#answered(ratesPerS)) : 0 }
  }

  #worth(perS: readonly number[]): number {
    return perS.reduce((sum, rate, i) => sum + this.#watches[i]!.service.weight * rate, 0)
  }

  /** Requests/s that are answered in time of those that come. */
  #answered(ratesPerS: readonly number[], clocks?: ServingClocks): number[] {
    return this.#letIn(ratesPerS, clocks).map((share, i) => share * ratesPerS[i]!)
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

  get #presentPerS(): number[] {
    return this.#watches.map(({ rate }) => rate.perS)
  }

  get #burstiness(): number[] {
    return this.#watches.map(({ rate }) => rate.burstiness)
  }

  /** The law, without the cap; undefined where no clock is enough. */
  #wanted(): Wanted | undefined {
    const burstiness = this.#burstiness
    // Peaks that no clock could serve ask for nothing.
    const forRates =
      this.#clocks.lowest(this.#readyPerS, burstiness) ?? this.#clocks.lowest(this.#presentPerS, burstiness)
    if (forRates === undefined) return undefined
    const present = this.#presentPerS
    const forBacklog = this.#clocks.lowestWhere((clock) => this.#drains(clock, present, burstiness))
    if (forBacklog === undefined) return undefined
    const smClockMhz = Math.max(forRates, forBacklog)
    const what = forBacklog > forRates ? 'backlog' : 'p99'
    return { smClockMhz, reason: `${what} of ${this.#bindingService(what, smClockMhz, burstiness)}` }
  }

  /** The service that a clock state less would not be enough for. */
  #bindingService(what: 'backlog' | 'p99', smClockMhz: number, burstiness: readonly number[]): string {
    const lower = this.#clocks.smClocksMhz.findLast((clock) => clock < smClockMhz)
    if (lower === undefined) return 'nobody'
    const { services } = this.#clocks.predict(lower, this.#readyPerS, burstiness)
    const at = services.findIndex((prediction, i) =>
      what === 'p99' ? !prediction.objectiveMet : !drained(this.#watches[i]!, prediction.capacityPerS),
    )
    return this.#watches[Math.max(0, at)]!.service.name
  }

  /** The last in every queue is taken early enough. */
  #drains(smClockMhz: number, rates: readonly number[], burstiness: readonly number[]): boolean {
    const { services } = this.#clocks.predict(smClockMhz, rates, burstiness)
    return services.every(({ capacityPerS }, i) => drained(this.#watches[i]!, capacityPerS))
  }

  #clock(wanted: Wanted | undefined, ceilingMhz: number, { applied, smClockRefusedMs }: SampleObservation): Action {
    const top = this.#clocks.smClocksMhz.at(-1)!
    const enoughMhz = this.#held(wanted?.smClockMhz ?? top)
    const capped = enoughMhz > ceilingMhz
    this.#smClockMhz = capped ? ceilingMhz : enoughMhz
    const { secondW } = this.#ceiling
    const atCap = secondW !== null && secondW >= AT_CAP * this.#powerCapW
    this.#exhausted = atCap || (this.#smClockMhz === top && applied.smClockMhz === top)
    this.#short = this.#exhausted && (wanted === undefined || capped)
    const rates = this.#watches.map(({ service, rate }) => `${service.name} ${rate.perS.toFixed(0)}/s`).join(', ')
    const binding = capped ? 'cap' : (wanted?.reason ?? 'top')
    const reason = `${binding}: ${rates}`
    if (binding !== this.#binding) this.#decide('clock', reason, { smClockMhz: this.#smClockMhz })
    this.#binding = binding
    if (this.#smClockMhz === applied.smClockMhz && smClockRefusedMs === 0) return {}
    return { smClockMhz: this.#smClockMhz, reason }
  }

  /** Up at once; down to what was enough for all of the last time, and only where that is more than a state. */
  #held(enoughMhz: number): number {
    this.#enough.push(enoughMhz)
    if (this.#enough.length > HELD_SAMPLES) this.#enough.shift()
    const most = Math.max(...this.#enough)
    const clocks = this.#clocks.smClocksMhz
    const band = clocks.indexOf(this.#heldMhz) - clocks.indexOf(most)
    if (band < 0 || band > BAND_STATES) this.#heldMhz = most
    return this.#heldMhz
  }

  /** Where all that the cap allows is run and a queue is still too long, as much is let in as the model answers by value. */
  #admit(): Action {
    const shedding = this.#watches.some(({ admitted }) => admitted < 1)
    if (this.#reconfiguring || !this.#exhausted) {
      this.#strict = 1
      return shedding ? this.#admitted([]) : {}
    }
    const rates = this.#presentPerS
    const burstiness = this.#burstiness
    const long = !this.#drains(this.#smClockMhz, rates, burstiness)
    if ((!shedding && !long) || this.#timeMs - this.#shedMs < SHED_MS) return {}
    this.#shedMs = this.#timeMs
    this.#strict = Math.max(1, this.#strict * (long ? STRICTER : EASIER))
    return this.#admitted(this.#letIn(rates.map((rate) => this.#strict * rate)))
  }

  #letIn(ratesPerS: readonly number[], clocks = this.#clocks): number[] {
    return letIn(clocks, {
      services: this.#watches.map(({ service }) => service),
      ratesPerS,
      burstiness: this.#burstiness,
      powerCapW: this.#powerCapW,
      topMhz: clocks.smClocksMhz.at(-1)!,
    })
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

  /**
   * The memory clock at which the present tenants keep the objectives with least power, in the peaks of the last minute too. Where
   * none keeps them and no SM clock is enough, the one at which what can be answered is worth most.
   */
  #weighMemory(): Action | undefined {
    const { model } = this.#options
    const dueMs = this.#short ? SHED_MS : MEMORY_MS
    if (this.#reconfiguring || this.#timeMs - this.#memoryMs < dueMs || model.memClocksMhz.length < 2) return undefined
    this.#memoryMs = this.#timeMs
    const rates = this.#presentPerS
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
    if (!best) return this.#short ? this.#mostByMemory(rates) : undefined
    if (best.powerW > (1 - MEMORY_GAIN) * presentW) return undefined
    const watts = `${best.powerW.toFixed(0)} W for ${presentW.toFixed(0)}`
    return this.#changeMemory(best.memClockMhz, `${best.memClockMhz} MHz memory serves the same with ${watts}`)
  }

  #mostByMemory(rates: readonly number[]): Action | undefined {
    const { tenants } = this.#clocks
    let most = (1 + MEMORY_GAIN) * this.#worth(this.#answered(rates))
    let found: number | undefined
    for (const memClockMhz of this.#options.model.memClocksMhz) {
      const worth = this.#worth(this.#answered(rates, this.#clocksFor(tenants, memClockMhz)))
      if (worth <= most) continue
      most = worth
      found = memClockMhz
    }
    return found === undefined ? undefined : this.#changeMemory(found, `more is answered at ${found} MHz memory`)
  }

  #changeMemory(memClockMhz: number, reason: string): Action {
    this.#clocks = this.#clocksFor(this.#clocks.tenants, memClockMhz)
    this.#decide('memory', reason, {})
    return { memClockMhz, reason }
  }

  #plan(objective: 'most-load' | 'most-value', ratesPerS: readonly number[]): ServicesPlan | undefined {
    const services = this.#watches.map(({ service }) => service)
    return this.#planner({ services, ratesPerS, powerCapW: this.#powerCapW }, objective)
  }

  #clocksFor(tenants: readonly Tenant[], memClockMhz: number = this.#clocks.memClockMhz): ServingClocks {
    const services = this.#watches.map(({ service }) => service)
    return new ServingClocks(this.#options.model, tenants, services, memClockMhz)
  }

  /** Whether tenants serve rates within the cap. */
  #bear(clocks: ServingClocks, ratesPerS: readonly number[]): boolean {
    const clock = clocks.lowest(ratesPerS)
    return clock !== undefined && clocks.predict(clock, ratesPerS).powerW <= this.#powerCapW
  }

  /** The common factor on rates that tenants bear at a clock that keeps the cap at this load. */
  #bears(clocks: ServingClocks, ratesPerS: readonly number[]): number {
    const keeps = (factor: number) =>
      this.#bear(
        clocks,
        ratesPerS.map((rate) => factor * Math.max(0.1, rate)),
      )
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

/** A batch is no backlog. */
function drained({ queued, service }: ServiceWatch, capacityPerS: number): boolean {
  return queued <= service.maxBatchSize || 1000 * queued <= DRAIN * service.objective.p99Ms * capacityPerS
}

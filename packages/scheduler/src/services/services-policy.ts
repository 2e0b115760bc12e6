import type { PerfModel } from '@pctodl/perf-model'
import { assertServices, InvalidInputError, type Service, type ServiceReading, type Tenant } from '@pctodl/platform'
import { backStop } from '../pctodl/back-stop.js'
import { SteeredTenants } from '../pctodl/steered-tenants.js'
import { TenantRevival } from '../pctodl/tenant-revival.js'
import type { Action, AppliedState, Decision, PowerCapPolicy, SampleObservation, WindowObservation } from '../policy.js'
import { Admission } from './admission.js'
import { planWithModel } from './plan-with-model.js'
import { RateEstimate } from './rate-estimate.js'
import { makeRoomFor } from './room-for-service.js'
import { ServicePressure } from './service-pressure.js'
import type { ServicesPlan, ServicesPlanner } from './services-planner.js'
import { ServingClocks } from './serving-clocks.js'

export interface ServicesPolicyOptions {
  readonly model: PerfModel
  readonly services: readonly Service[]
  /** Requests/s to begin with, by name; afterwards they are measured. A service that is not named begins with 1. */
  readonly expectedPerS: Readonly<Record<string, number>>
  /** Default: `planWithModel`. */
  readonly plan?: ServicesPlanner
  /** As in `PctodlPolicyOptions`. Default 0. */
  readonly backstopPercent?: number | null
  /** A plan whose answers are worth so much more by weight than those of the present tenants is worth their restart, factor. Default 1.15. */
  readonly worthRestart?: number
}

/** Everything that is known of one service. */
interface Watched {
  readonly service: Service
  readonly rate: RateEstimate
  readonly pressure: ServicePressure
  readonly admission: Admission
  /** Share that was last asked for. */
  asked: number
}

/** Rates are planned for with this room: they scatter within a second, and the model errs. */
const ROOM = 1.08
/** The clock that is wanted is looked up this often, ms. */
const LOOK_MS = 300
/** A lower clock is taken when it has been enough for so long, ms. */
const LOWER_AFTER_MS = 2500
/** A queue whose last request would wait for this share of the objective asks for all there is. */
const LONG_QUEUE = 0.3
/** A clock that was asked for shows in queues after this, ms. */
const EXHAUSTED_AFTER_MS = 600
/** Present tenants have not been enough for so long: others are looked for, ms. Longer than a burst. */
const REPLAN_AFTER_MS = 8000
/** And not again before, ms. */
const REPLAN_AGAIN_MS = 30_000
/** The memory clock is weighed this often, ms, and changed for so much less power. */
const MEMORY_MS = 10_000
const MEMORY_GAIN = 0.03
/** The part of the power of busy tenants that the load makes them draw is looked up this often, ms, and followed beyond this change. */
const BUSY_MS = 5000
const BUSY_CHANGE = 0.06
/** A limit up to this share of the cap holds it, as the clock controller has it. */
const HELD_WITHIN = 1.0075
/** Changes of an admitted share below this are not worth a call. */
const SAME_SHARE = 0.02

/**
 * PctoDL for services: tenants are planned for the most load of the expected mix, then the clock follows the load, as low as keeps
 * every objective and never above what the cap allows. What is predicted from the measured rates is corrected by what requests
 * met; a queue that grows asks for all there is at once; what cannot be served is turned away at the door, and said.
 */
export class ServicesPolicy implements PowerCapPolicy {
  readonly name = 'pctodl'
  readonly #options: ServicesPolicyOptions
  readonly #planner: ServicesPlanner
  readonly #steered: SteeredTenants
  readonly #revival = new TenantRevival()
  readonly #decisions: Decision[] = []
  #watched: readonly Watched[]
  #clocks: ServingClocks | undefined
  #powerCapW = 0
  #wantedMhz = Number.POSITIVE_INFINITY
  #lookedMs = Number.NEGATIVE_INFINITY
  #lowerSinceMs: number | undefined
  #shortSinceMs: number | undefined
  #replannedMs = 0
  #memoryMs = 0
  #pressedSinceMs: number | undefined
  #shedding = false
  #reconfiguring = false
  #busyPart = 1
  #busyMs = Number.NEGATIVE_INFINITY
  #timeMs = 0

  /** @throws InvalidInputError for services or rates that are none */
  constructor(options: ServicesPolicyOptions) {
    assertServices(options.services)
    for (const [name, rate] of Object.entries(options.expectedPerS)) {
      if (!(rate > 0 && rate < Infinity))
        throw new InvalidInputError(`expectedPerS.${name}`, rate, 'requests/s above 0')
    }
    this.#options = options
    this.#planner = options.plan ?? planWithModel(options.model)
    this.#steered = new SteeredTenants(options.model)
    this.#watched = options.services.map((service) => this.#watch(service))
  }

  /** @throws PctodlError `INFEASIBLE_PLAN` where no tenants serve the services under the cap */
  start(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    const plan = this.#plan('most-load') ?? this.#plan('most-value')
    if (!plan) throw new InvalidInputError('powerCapW', powerCapW, 'a cap under which the services can be served')
    const adopted = this.#adopt(plan)
    const limit = this.#backStop()
    this.#followBusy(0, limit.powerLimitW ?? Number.POSITIVE_INFINITY)
    const smClockMhz = this.#steered.clockBefore(powerCapW)
    return {
      ...adopted,
      smClockMhz,
      ...limit,
      reason: `tenants for the most load of the mix under ${powerCapW} W`,
    }
  }

  onCapChange(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    this.#lookedMs = Number.NEGATIVE_INFINITY
    return { ...this.#backStop(), reason: `new cap ${powerCapW} W` }
  }

  onServicesChange(services: readonly Service[], applied: AppliedState): Action | undefined {
    const before = this.#watched
    this.#watched = services.map((service) => {
      const known = before.find((watched) => watched.service.name === service.name)
      if (known === undefined) return this.#watch(service)
      return known.service === service
        ? known
        : { ...known, service, admission: new Admission(service.objective.p99Ms) }
    })
    this.#lookedMs = Number.NEGATIVE_INFINITY
    const kept = applied.tenants.filter((tenant) => services.some(({ name }) => name === tenant.service))
    const orphans = this.#watched.filter(({ service }) => !kept.some((tenant) => tenant.service === service.name))
    const tenants = makeRoomFor(
      kept,
      orphans.map(({ service, rate }) => ({ service, ratePerS: rate.aheadPerS })),
      (candidates) => this.#spare(candidates),
    )
    const reason = `services: ${services.map(({ name }) => name).join(', ')}; the others go on`
    if (tenants.length === applied.tenants.length && tenants.every((tenant, i) => tenant === applied.tenants[i])) {
      this.#useClocks(applied.tenants)
      return undefined
    }
    const { memClockMhz } = this.#steered
    const adopted = this.#adopt({ tenants, memClockMhz, smClockMhz: 0 })
    return { ...adopted, smClockMhz: this.#steered.clockBefore(this.#powerCapW), reason }
  }

  onSample(sample: SampleObservation): Action | undefined {
    const { timeMs, services = [], reconfiguring } = sample
    this.#timeMs = timeMs
    this.#reconfiguring = reconfiguring
    const exhausted = this.#exhausted(sample)
    for (const watched of this.#watched) {
      const reading = services.find(({ service }) => service === watched.service.name)
      if (!reading) continue
      watched.rate.update(timeMs, reading.arrived)
      watched.pressure.update(timeMs, reading, reconfiguring)
      if (reconfiguring) watched.admission.forget()
      else watched.admission.update(timeMs, reading, exhausted)
    }
    if (timeMs - this.#lookedMs >= LOOK_MS) this.#look(timeMs)
    // A burst is met with all there is before its queue has grown, until the estimate knows what it comes to.
    const pressed = this.#pressedSinceMs !== undefined || this.#watched.some(({ rate }) => rate.bursting)
    // Amid a burst rates say nothing of the part of the time in which tenants will be busy.
    if (!reconfiguring && !pressed) this.#followBusy(timeMs, sample.applied.powerLimitW)
    const ceilingMhz = pressed ? Number.POSITIVE_INFINITY : this.#wantedMhz
    const step = this.#steered.step(sample, ceilingMhz)
    const clock =
      step.smClockMhz === sample.applied.smClockMhz && sample.smClockRefusedMs === 0 ? {} : this.#clockAction(pressed)
    const change = this.#revive(sample) ?? this.#weighMemory(sample)
    return { ...clock, ...this.#steered.stepMemory(sample), ...this.#admit(), ...change }
  }

  onWindow(_window: WindowObservation): undefined {}

  /** The search for other tenants, after the clock has been set. */
  onIdle(timeMs: number): Action | undefined {
    return this.#replan(timeMs)
  }

  takeDecisions(): readonly Decision[] {
    return this.#decisions.splice(0)
  }

  #watch(service: Service): Watched {
    const { expectedPerS } = this.#options
    // A service may be called as what every object has.
    const rate = new RateEstimate(Object.hasOwn(expectedPerS, service.name) ? expectedPerS[service.name]! : 1)
    return {
      service,
      rate,
      pressure: new ServicePressure(),
      admission: new Admission(service.objective.p99Ms),
      asked: 1,
    }
  }

  /** Rates to be ready for, requests/s. */
  get #ratesPerS(): number[] {
    return this.#watched.map(({ rate, pressure }) => ROOM * pressure.factor * rate.aheadPerS)
  }

  #look(timeMs: number): void {
    this.#lookedMs = timeMs
    if (!this.#clocks) return
    const needed = this.#clocks.lowest(this.#ratesPerS)
    const wanted = needed ?? Number.POSITIVE_INFINITY
    if (wanted >= this.#wantedMhz) {
      this.#wantedMhz = wanted
      this.#lowerSinceMs = undefined
      return
    }
    this.#lowerSinceMs ??= timeMs
    if (timeMs - this.#lowerSinceMs < LOWER_AFTER_MS) return
    this.#wantedMhz = wanted
    this.#lowerSinceMs = undefined
  }

  /**
   * Tenants that wait for requests draw less than busy ones: where the board's own limit holds the cap for the moments in which
   * all are busy, the clock is chosen for what they draw at the present rates.
   */
  #followBusy(timeMs: number, powerLimitW: number): void {
    if (timeMs - this.#busyMs < BUSY_MS || !this.#clocks) return
    this.#busyMs = timeMs
    const held = powerLimitW <= HELD_WITHIN * this.#powerCapW
    // Only down: what was learnt of the power while more came than before has that in it already, and would count it twice. Where the
    // load comes to draw more than this, the readings say so, and the board's limit holds the cap meanwhile.
    const part = held ? Math.min(this.#busyPart, this.#busyPartAtCap()) : 1
    if (Math.abs(part - this.#busyPart) <= BUSY_CHANGE) return
    this.#busyPart = part
    this.#steered.busyFor(part)
  }

  /** Power at the present rates over power of busy tenants, at the highest clock at which the former keeps the cap. */
  #busyPartAtCap(): number {
    const { model } = this.#options
    const { tenants, memClockMhz } = this.#steered
    const clocks = this.#clocks!
    let part = 1
    for (let round = 0; round < 3; round++) {
      const smClockMhz = model.solveSmClock(tenants, memClockMhz, this.#powerCapW / part)
      if (smClockMhz === undefined) return part
      const busyW = model.predict({ tenants, smClockMhz, memClockMhz }).powerW
      part = Math.min(1, clocks.predict(smClockMhz, this.#ratesPerS).powerW / busyW)
    }
    return part
  }

  /** All that the cap allows has been asked for, for long enough to show, and still a queue is long. */
  #exhausted({ timeMs, reconfiguring, services = [] }: SampleObservation): boolean {
    const pressed = !reconfiguring && this.#watched.some((watched) => pressing(watched, services))
    if (!pressed) this.#pressedSinceMs = undefined
    else this.#pressedSinceMs ??= timeMs
    return pressed && timeMs - this.#pressedSinceMs! >= EXHAUSTED_AFTER_MS
  }

  #clockAction(pressed: boolean): Action {
    const { smClockMhz } = this.#steered.lastStep!
    const rates = this.#watched.map(({ service, rate }) => `${service.name} ${rate.aheadPerS.toFixed(0)}/s`).join(', ')
    return { smClockMhz, reason: pressed ? `a queue grows: all that the cap allows; ${rates}` : `enough for ${rates}` }
  }

  #admit(): Action {
    const admitted: Record<string, number> = {}
    for (const watched of this.#watched) {
      const { share } = watched.admission
      const settled = Math.abs(share - watched.asked) < SAME_SHARE && !(share === 1 && watched.asked < 1)
      if (settled) continue
      watched.asked = share
      admitted[watched.service.name] = share
    }
    const any = this.#watched.some(({ asked }) => asked < 1)
    if (any !== this.#shedding) {
      this.#shedding = any
      const shares = Object.fromEntries(this.#watched.map(({ service, asked }) => [service.name, asked]))
      const reason = any
        ? 'more comes than can be answered in time under the cap: some are turned away'
        : 'all are let in again'
      this.#decide('admission', reason, { shares })
    }
    return Object.keys(admitted).length === 0 ? {} : { admitted }
  }

  #revive({ timeMs, failures, reconfiguring }: SampleObservation): Action | undefined {
    if (reconfiguring || failures.length === 0 || !this.#revival.due(timeMs, failures)) return undefined
    this.#decide('tenants-died', failures.map(({ failure }) => failure).join('; '), { failures })
    const { tenants } = this.#steered
    return {
      ...this.#steered.replace(tenants),
      smClockMhz: this.#steered.clockBefore(this.#powerCapW),
      reason: `dead tenants are started again, attempt ${this.#revival.attempts}`,
    }
  }

  /** Where the present tenants have not been enough for longer than a burst lasts, others that are worth more. */
  #replan(timeMs: number): Action | undefined {
    const short = this.#watched.some(({ asked, rate }) => asked < 0.98 && !rate.bursting)
    if (!short || this.#reconfiguring) {
      this.#shortSinceMs = undefined
      return undefined
    }
    this.#shortSinceMs ??= timeMs
    if (timeMs - this.#shortSinceMs < REPLAN_AFTER_MS || timeMs - this.#replannedMs < REPLAN_AGAIN_MS) return undefined
    this.#replannedMs = timeMs
    const plan = this.#plan('most-value')
    if (!plan?.admittedPerS) return undefined
    const planned = this.#worth((_, i) => plan.admittedPerS![i]!)
    const present = this.#worth(({ rate, pressure }) => rate.meanPerS * (pressure.attainment ?? 1))
    const { worthRestart = 1.15 } = this.#options
    const promise = `other tenants are worth ${planned.toFixed(0)}/s by the services' weights, the present ones ${present.toFixed(0)}/s`
    if (planned < worthRestart * present) {
      this.#decide('plan-rejected', promise, { planned, present })
      return undefined
    }
    return { ...this.#adopt(plan), smClockMhz: this.#steered.clockBefore(this.#powerCapW), reason: promise }
  }

  /** The memory clock at which the present tenants keep the objectives with least power. */
  #weighMemory({ timeMs, reconfiguring }: SampleObservation): Action | undefined {
    const { model } = this.#options
    if (reconfiguring || timeMs - this.#memoryMs < MEMORY_MS || model.memClocksMhz.length < 2) return undefined
    this.#memoryMs = timeMs
    const { tenants, memClockMhz } = this.#steered
    const rates = this.#ratesPerS
    const services = this.#watched.map(({ service }) => service)
    let best: { memClockMhz: number; smClockMhz: number; powerW: number; clocks: ServingClocks } | undefined
    let presentW = Number.POSITIVE_INFINITY
    for (const candidate of model.memClocksMhz) {
      const clocks =
        candidate === memClockMhz && this.#clocks
          ? this.#clocks
          : new ServingClocks(model, tenants, services, candidate)
      const smClockMhz = clocks.lowest(rates)
      if (smClockMhz === undefined) continue
      const { powerW } = clocks.predict(smClockMhz, rates)
      if (candidate === memClockMhz) presentW = powerW
      if (!best || powerW < best.powerW) best = { memClockMhz: candidate, smClockMhz, powerW, clocks }
    }
    if (!best || best.memClockMhz === memClockMhz || best.powerW > (1 - MEMORY_GAIN) * presentW) return undefined
    this.#wantedMhz = best.smClockMhz
    const adopted = this.#adopt({ tenants, memClockMhz: best.memClockMhz, smClockMhz: best.smClockMhz })
    const reason = `${best.memClockMhz} MHz memory serves the same with ${best.powerW.toFixed(0)} W for ${presentW.toFixed(0)}`
    return { ...adopted, smClockMhz: this.#steered.clockBefore(this.#powerCapW), reason }
  }

  #plan(objective: 'most-load' | 'most-value'): ServicesPlan | undefined {
    const services = this.#watched.map(({ service }) => service)
    const ratesPerS = this.#watched.map(({ rate }) => Math.max(0.1, rate.meanPerS))
    return this.#planner({ services, ratesPerS, powerCapW: this.#powerCapW }, objective)
  }

  /** Requests/s answered in time, each by the weight of its service. */
  #worth(answeredPerS: (watched: Watched, i: number) => number): number {
    return this.#watched.reduce((sum, watched, i) => {
      return sum + watched.service.weight * Math.min(watched.rate.meanPerS, answeredPerS(watched, i))
    }, 0)
  }

  /** The common factor on the rates that tenants bear under the cap. */
  #bears(tenants: readonly Tenant[], memClockMhz: number): number {
    const { model } = this.#options
    const services = this.#watched.map(({ service }) => service)
    const smClockMhz = model.solveSmClock(tenants, memClockMhz, this.#powerCapW)
    if (smClockMhz === undefined) return 0
    const rates = this.#watched.map(({ rate }) => Math.max(0.1, rate.meanPerS))
    return new ServingClocks(model, tenants, services, memClockMhz).loadFactor(smClockMhz, rates)
  }

  /** The least room that any service has with these tenants at the clock that the cap allows, as a factor on its rate. */
  #spare(tenants: readonly Tenant[]): number {
    return this.#bears(tenants, this.#steered.memClockMhz)
  }

  #adopt(plan: ServicesPlan): Action {
    const action = this.#steered.adopt(plan)
    this.#useClocks(plan.tenants)
    return action
  }

  #useClocks(tenants: readonly Tenant[]): void {
    const services = this.#watched.map(({ service }) => service)
    this.#clocks = new ServingClocks(this.#options.model, tenants, services, this.#steered.memClockMhz)
    this.#lookedMs = Number.NEGATIVE_INFINITY
  }

  #backStop(): Action {
    const { model, backstopPercent = 0 } = this.#options
    return backStop(model.spec, this.#powerCapW, backstopPercent)
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, timeMs: this.#timeMs, ...details })
  }
}

/** The last in the queue would wait for too much of its objective. */
function pressing({ service, rate }: Watched, services: readonly ServiceReading[]): boolean {
  const queued = services.find((candidate) => candidate.service === service.name)?.queued ?? 0
  const servedPerS = Math.max(1, Math.min(rate.meanPerS, rate.recentPerS))
  return queued > service.maxBatchSize && (1000 * queued) / servedPerS > LONG_QUEUE * service.objective.p99Ms
}

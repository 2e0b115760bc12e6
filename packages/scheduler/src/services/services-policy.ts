import type { PerfModel } from '@pctodl/perf-model'
import { assertServices, type Configuration, InvalidInputError, type Service, type Tenant } from '@pctodl/platform'
import { hardwareLimit } from '../pctodl/hardware-limit.js'
import { TenantRevival } from '../pctodl/tenant-revival.js'
import type { Action, AppliedState, Decision, PowerCapPolicy, SampleObservation, WindowObservation } from '../policy.js'
import { AIM, CapLaw } from './cap-law.js'
import { ServiceWatch } from './service-watch.js'
import { planWithModel, type ServicesPlanner } from './services-planner.js'
import { firstWhere, ServingClocks } from './serving-clocks.js'
import { type Admission, chooseAdmission, MIN_SHARE } from './shedding.js'

export interface ServicesPolicyOptions {
  readonly model: PerfModel
  readonly services: readonly Service[]
  /** Initial arrival rates by service name, requests/s; later, rates are measured. The default for a service is 1. */
  readonly expectedPerS: Readonly<Record<string, number>>
  /** Planner of the tenants. Default: `planWithModel`. */
  readonly plan?: ServicesPlanner
}

const SAMPLES_PER_S = 10
/** A queue must drain within this share of the service's objective. */
const DRAIN = 0.5
/** Requests may be shed once the one-second mean power reaches this share of the cap. */
const AT_CAP = 0.9
/**
 * The clock falls only to the highest clock needed in this many samples, and only if that is more than `BAND_STATES`
 * states lower. At the cap, the clock rises only by more than `BAND_STATES` states.
 */
const HELD_SAMPLES = 10
const BAND_STATES = 2
/** Interval between changes of the admitted shares, ms. The backlog is to be answered within this time. */
const SHED_MS = 500
/**
 * Interval at which the memory clock is reconsidered, ms, and the relative power saving that a change requires. While
 * no clock suffices, the interval is `SHED_MS`.
 */
const MEMORY_MS = 10_000
const MEMORY_GAIN = 0.03
/**
 * Other tenants are planned if the present ones could not serve the rates for this time, s. It is longer than a burst.
 */
const MIX_S = 10
/**
 * Minimum interval between searches for other tenants, ms, and the relative gain in answered requests that a change
 * requires.
 */
const REPLAN_MS = 30_000
const REPLAN_GAIN = 1.1
/** Smallest share that a new service's tenant may get from the free part of the board, percent. */
const MIN_PERCENT = 5
/** Batch sizes of new tenants are compared at up to 16 times this rate, requests/s. */
const NEWCOMER_PER_S = 200

/** A sufficient SM clock, and the constraint that prevents a lower one. */
interface Need {
  readonly smClockMhz: number
  readonly binding: string
}

/**
 * Chooses the lowest SM clock at which every service meets its predicted p99 and drains its queue. The clock rises at
 * once, and falls when no sample of the last second needed more. If no clock suffices, the policy runs the highest
 * clock under the cap and sheds requests by weight. It sheds only at the cap or at the highest clock.
 */
export class ServicesPolicy implements PowerCapPolicy {
  readonly name = 'pctodl'
  readonly #model: PerfModel
  readonly #expectedPerS: ReadonlyMap<string, number>
  readonly #plan: ServicesPlanner
  readonly #cap: CapLaw
  readonly #revival = new TenantRevival()
  readonly #decisions: Decision[] = []
  #watches: readonly ServiceWatch[]
  /** Predictions for the present tenants: `#memories` at each memory clock, `#clocks` at the present one. */
  #memories: readonly ServingClocks[] = []
  #clocks!: ServingClocks
  #powerCapW = 0
  #timeMs = 0
  #reconfiguring = true
  /** `#needs`: clocks needed in the last samples. `#heldMhz`: the clock chosen from them, MHz. */
  readonly #needs: Need[] = []
  #heldMhz = 0
  #smClockMhz = 0
  /** Whether the last clock was lower than needed. */
  #short = false
  #binding = ''
  /** The clocks and admitted shares, chosen together while requests are shed; otherwise undefined. */
  #admission: Admission | undefined
  #shedMs = 0
  #memoryMs = 0
  #servableMs = 0
  #replannedMs = 0

  /** @throws InvalidInputError for invalid services or rates */
  constructor({ model, services, expectedPerS, plan = planWithModel(model) }: ServicesPolicyOptions) {
    assertServices(services)
    this.#expectedPerS = new Map(Object.entries(expectedPerS))
    for (const [name, rate] of this.#expectedPerS) {
      if (!(rate > 0 && rate < Infinity))
        throw new InvalidInputError(`expectedPerS.${name}`, rate, 'requests/s above 0')
    }
    this.#model = model
    this.#plan = plan
    this.#cap = new CapLaw(model.spec)
    this.#watches = services.map((service) => this.#watch(service))
  }

  /** @throws InvalidInputError if no tenants can serve the services under the cap */
  start(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    const plan = this.#planFor(this.#ratesPerS)
    if (!plan) throw new InvalidInputError('powerCapW', powerCapW, 'a cap under which the services can be served')
    const limit = hardwareLimit(this.#model.spec, powerCapW, 0)
    return { ...this.#adopt(plan), ...limit, reason: `tenants for the expected mix under ${powerCapW} W` }
  }

  onCapChange(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    this.#cap.forget()
    return { ...hardwareLimit(this.#model.spec, powerCapW, 0), reason: `new cap ${powerCapW} W` }
  }

  onServicesChange(services: readonly Service[], applied: AppliedState): Action | undefined {
    const before = this.#watches
    this.#watches = services.map((service) => {
      const known = before.find((watch) => watch.service.name === service.name)
      // By value, because a replayed list has other objects.
      return JSON.stringify(known?.service) === JSON.stringify(service) ? known! : this.#watch(service, known)
    })
    const tenants = this.#withNewcomers(
      applied.tenants.filter(({ service }) => services.some(({ name }) => name === service)),
    )
    const action = this.#adopt({ tenants, memClockMhz: this.#clocks.memClockMhz })
    const same =
      tenants.length === applied.tenants.length && tenants.every((tenant, i) => tenant === applied.tenants[i])
    return same ? undefined : { ...action, reason: `services: ${services.map(({ name }) => name).join(', ')}` }
  }

  /**
   * Adds a tenant for each service without one. New tenants divide the free share equally; if that is too small, a new
   * tenant gets half of the largest tenant's share.
   */
  #withNewcomers(kept: readonly Tenant[]): readonly Tenant[] {
    const tenants = [...kept]
    const newcomers = this.#watches.filter(({ service }) => !kept.some((tenant) => tenant.service === service.name))
    for (const [i, { service }] of newcomers.entries()) {
      const freePercent = 100 - tenants.reduce((sum, tenant) => sum + tenant.mpsPercent, 0)
      let mpsPercent = freePercent / (newcomers.length - i)
      if (mpsPercent < MIN_PERCENT) {
        const largest = tenants.reduce((a, b) => (b.mpsPercent > a.mpsPercent ? b : a))
        mpsPercent = largest.mpsPercent / 2
        tenants[tenants.indexOf(largest)] = { ...largest, mpsPercent }
      }
      tenants.push(this.#withBatch({ model: service.model, mpsPercent, batchSize: 1, service: service.name }, service))
    }
    return tenants
  }

  /** Chooses the batch size with which a tenant answers most requests within the objective. Its rate may be unknown. */
  #withBatch(tenant: Tenant, service: Service): Tenant {
    let best = tenant
    let most = 0
    for (let batchSize = service.maxBatchSize; batchSize >= 1; batchSize = Math.floor(batchSize / 2)) {
      const other = { ...tenant, batchSize }
      const clocks = new ServingClocks(this.#model, [other], [service], this.#clocks.memClockMhz)
      const load = clocks.loadFactor(clocks.smClocksMhz.at(-1)!, [NEWCOMER_PER_S])
      if (load > most) [best, most] = [other, load]
    }
    return best
  }

  onSample(sample: SampleObservation): Action | undefined {
    const { timeMs, services = [], reconfiguring, telemetry, failures } = sample
    this.#timeMs = timeMs
    this.#reconfiguring = reconfiguring
    for (const watch of this.#watches) {
      const reading = services.find(({ service }) => service === watch.service.name)
      if (reading) watch.update(timeMs, reading, reconfiguring || this.#short)
    }
    this.#cap.read(timeMs, telemetry, reconfiguring ? null : this.#powerW(telemetry.smClockMhz ?? this.#smClockMhz))
    const action = { ...this.#chooseClock(sample), ...this.#admit(sample.applied), ...this.#weighMemory() }
    if (reconfiguring || failures.length === 0 || !this.#revival.due(timeMs, failures)) return action
    this.#decide('tenants-died', failures.map(({ failure }) => failure).join('; '), { failures })
    const reason = `dead tenants are restarted, attempt ${this.#revival.attempts}`
    return { ...action, tenants: this.#clocks.tenants, reason }
  }

  onWindow(_window: WindowObservation): undefined {}

  /**
   * Searches for other tenants if the present ones cannot serve the measured rates. It runs after the clock has been
   * set.
   */
  onIdle(timeMs: number): Action | undefined {
    if (this.#reconfiguring || (timeMs % 1000 < 100 && this.#canServe(this.#clocks, this.#ratesPerS)))
      this.#servableMs = timeMs
    if (timeMs - this.#servableMs < 1000 * MIX_S || timeMs - this.#replannedMs < REPLAN_MS) return undefined
    this.#replannedMs = timeMs
    const mix = this.#watches.map(({ rate }) => Math.max(0.1, rate.meanPerS(MIX_S)))
    const plan = this.#planFor(mix)
    const offsetW = Math.max(0, this.#cap.offsetW)
    const answered = (clocks: ServingClocks) => this.#chooseAdmission([clocks], mix, offsetW).weightedPerS
    const gain = plan
      ? answered(this.#clocksFor(plan.tenants, plan.memClockMhz)) / Math.max(1e-9, answered(this.#clocks))
      : 0
    const reason = `other tenants answer ${gain.toFixed(2)} times as much of this mix`
    if (plan && gain >= REPLAN_GAIN) return { ...this.#adopt(plan), reason }
    this.#decide('plan-rejected', reason, { gain })
    return undefined
  }

  takeDecisions(): readonly Decision[] {
    return this.#decisions.splice(0)
  }

  #watch(service: Service, known?: ServiceWatch): ServiceWatch {
    const watch = new ServiceWatch(service, this.#expectedPerS.get(service.name) ?? 1, known?.rate)
    watch.admitted = known?.admitted ?? 1
    return watch
  }

  get #ratesPerS(): number[] {
    return this.#watches.map(({ rate }) => rate.perS)
  }

  /** Arrival rates to prepare for, requests/s: with caution. */
  get #readyPerS(): number[] {
    return this.#watches.map(({ readyPerS }) => readyPerS)
  }

  get #burstiness(): number[] {
    return this.#watches.map(({ rate }) => rate.burstiness)
  }

  /**
   * Returns the lowest clock at which every service meets its objective and works off its backlog with caution, and the
   * constraint that rules out the next lower clock. Undefined if no clock suffices.
   */
  #need(): Need | undefined {
    const { smClocksMhz } = this.#clocks
    const index = firstWhere(smClocksMhz, (clock) => this.#lacking(clock) === undefined)
    if (index === smClocksMhz.length) return undefined
    const binding = index === 0 ? 'lowest clock' : this.#lacking(smClocksMhz[index - 1]!)!
    return { smClockMhz: smClocksMhz[index]!, binding }
  }

  /** The constraint that a clock violates; undefined if the clock suffices. */
  #lacking(smClockMhz: number): string | undefined {
    const { services } = this.#clocks.predict(smClockMhz, this.#readyPerS, this.#burstiness)
    for (const [i, { service, objectiveMet, capacityPerS }] of services.entries()) {
      const watch = this.#watches[i]!
      if (!objectiveMet) return `p99 of ${service}`
      if (!drains(watch, capacityPerS, watch.caution)) return `backlog of ${service}`
    }
    return undefined
  }

  #chooseClock({ applied, smClockRefusedMs }: SampleObservation): Action {
    const clocks = this.#clocks.smClocksMhz
    const need = this.#need()
    const held = this.#hold(need ?? { smClockMhz: this.#admission?.smClockMhz ?? clocks.at(-1)!, binding: 'top' })
    const ceilingMhz = this.#ceilingMhz(held.smClockMhz)
    const capped = held.smClockMhz > ceilingMhz
    const smClockMhz = capped ? ceilingMhz : held.smClockMhz
    // At the cap, a small rise would soon be followed by a fall, so it is skipped.
    const rise = clocks.indexOf(smClockMhz) - clocks.indexOf(this.#smClockMhz)
    if (!capped || rise < 0 || rise > BAND_STATES) this.#smClockMhz = smClockMhz
    this.#short = need === undefined || capped
    const binding = capped ? 'cap' : held.binding
    const rates = this.#watches.map(({ service, rate }) => `${service.name} ${rate.perS.toFixed(0)}/s`)
    const reason = `${binding}: ${rates.join(', ')}`
    if (binding !== this.#binding) this.#decide('clock', reason, { smClockMhz: this.#smClockMhz })
    this.#binding = binding
    if (this.#smClockMhz === applied.smClockMhz && smClockRefusedMs === 0) return {}
    return { smClockMhz: this.#smClockMhz, reason }
  }

  /**
   * Filters the needed clock. The result rises at once. It falls to the highest clock needed in the last second, and
   * only if that is more than `BAND_STATES` lower.
   */
  #hold(need: Need): Need {
    this.#needs.push(need)
    if (this.#needs.length > HELD_SAMPLES) this.#needs.shift()
    const most = this.#needs.reduce((a, b) => (b.smClockMhz >= a.smClockMhz ? b : a))
    const clocks = this.#clocks.smClocksMhz
    const band = clocks.indexOf(this.#heldMhz) - clocks.indexOf(most.smClockMhz)
    if (band < 0 || band > BAND_STATES) this.#heldMhz = most.smClockMhz
    return { ...most, smClockMhz: this.#heldMhz }
  }

  #ceilingMhz(wantedMhz: number): number {
    return this.#cap.ceilingMhz(this.#clocks.memClockMhz, this.#powerCapW, wantedMhz, (clock) => this.#powerW(clock))
  }

  /** Predicted power at a clock for the admitted and the waiting requests, W. */
  #powerW(smClockMhz: number): number {
    const clocks = this.#clocks.smClocksMhz
    // All waiting requests count as arriving in this sample, because they keep the tenants busy.
    const ratesPerS = this.#watches.map(({ rate, admitted, backlog }) => admitted * rate.perS + SAMPLES_PER_S * backlog)
    const state = clocks.findLast((clock) => clock <= smClockMhz) ?? clocks[0]!
    return this.#clocks.predict(state, ratesPerS, this.#burstiness).powerW
  }

  /**
   * Sheds requests: admits what the model can answer, by weight. Shedding starts at the cap or at the highest clock if
   * a queue is too long, and at the lowest clock if power is above the cap.
   */
  #admit(applied: AppliedState): Action {
    const { secondW } = this.#cap
    const clocks = this.#clocks.smClocksMhz
    const atCap = secondW !== null && secondW >= AT_CAP * this.#powerCapW
    const above = secondW !== null && secondW > AIM * this.#powerCapW && this.#smClockMhz === clocks[0]
    const atTop = this.#smClockMhz === clocks.at(-1) && applied.smClockMhz === clocks.at(-1)
    if (this.#reconfiguring || !(atCap || atTop)) return this.#admitted(undefined)
    if (this.#timeMs - this.#shedMs < SHED_MS) return {}
    const { services } = this.#clocks.predict(this.#smClockMhz, this.#ratesPerS, this.#burstiness)
    const tooMany = above || services.some(({ capacityPerS }, i) => !drains(this.#watches[i]!, capacityPerS, 0))
    if (!tooMany && !this.#admission && this.#watches.every(({ admitted }) => admitted === 1)) return {}
    this.#shedMs = this.#timeMs
    const others = this.#memories.filter((clocks) => clocks !== this.#clocks)
    const backlogPerS = this.#watches.map(({ backlog }) => (1000 / SHED_MS) * backlog)
    const admission = this.#chooseAdmission([this.#clocks, ...others], this.#ratesPerS, this.#cap.offsetW, backlogPerS)
    const memory = admission.clocks === this.#clocks ? {} : this.#setMemory(admission.clocks, 'more is answered')
    return { ...memory, ...this.#admitted(admission) }
  }

  #admitted(admission: Admission | undefined): Action {
    this.#admission = admission?.shares.some((share) => share < 1) ? admission : undefined
    const admitted: Record<string, number> = {}
    this.#watches.forEach((watch, i) => {
      const share = this.#admission?.shares[i] ?? 1
      // Smaller changes are not requested, except a return to 1.
      if (Math.abs(share - watch.admitted) < MIN_SHARE && !(share === 1 && watch.admitted < 1)) return
      admitted[watch.service.name] = watch.admitted = share
    })
    if (Object.keys(admitted).length === 0) return {}
    this.#cap.forget()
    const power = `${this.#cap.secondW?.toFixed(0)} of ${this.#powerCapW} W at ${this.#smClockMhz} MHz`
    this.#decide('admission', power, { admitted })
    return { admitted }
  }

  #chooseAdmission(
    memories: readonly ServingClocks[],
    ratesPerS: readonly number[],
    offsetW: number,
    backlogPerS = ratesPerS.map(() => 0),
  ): Admission {
    const services = this.#watches.map(({ service }) => service)
    const targetW = AIM * this.#powerCapW - offsetW
    return chooseAdmission(memories, this.#smClockMhz, { services, ratesPerS, backlogPerS, targetW })
  }

  /**
   * Chooses the memory clock with the lowest power at the present rates, among those at which the tenants can also serve
   * the rates with caution, if there are any.
   */
  #weighMemory(): Action {
    const dueMs = this.#short ? SHED_MS : MEMORY_MS
    if (this.#reconfiguring || this.#admission || this.#timeMs - this.#memoryMs < dueMs) return {}
    this.#memoryMs = this.#timeMs
    const isReady = this.#memories.some((clocks) => this.#canServe(clocks, this.#readyPerS))
    const servedPerS = isReady ? this.#readyPerS : this.#ratesPerS
    const powerW = this.#memories.map((clocks) =>
      this.#canServe(clocks, servedPerS) ? this.#minW(clocks, this.#ratesPerS) : Infinity,
    )
    const minW = Math.min(...powerW)
    if (!(minW < (1 - MEMORY_GAIN) * powerW[this.#memories.indexOf(this.#clocks)]!)) return {}
    return this.#setMemory(this.#memories[powerW.indexOf(minW)]!, 'less power is needed')
  }

  #setMemory(clocks: ServingClocks, why: string): Action {
    this.#clocks = clocks
    const reason = `${why} at ${clocks.memClockMhz} MHz memory`
    this.#decide('memory', reason, {})
    return { memClockMhz: clocks.memClockMhz, reason }
  }

  /** Lowest power at which the tenants serve the rates, W; Infinity if no clock suffices. */
  #minW(clocks: ServingClocks, ratesPerS: readonly number[]): number {
    const clock = clocks.lowest(ratesPerS, this.#burstiness)
    return clock === undefined ? Infinity : clocks.predict(clock, ratesPerS, this.#burstiness).powerW
  }

  /** Whether the tenants can serve the rates within the cap. */
  #canServe(clocks: ServingClocks, ratesPerS: readonly number[]): boolean {
    return this.#minW(clocks, ratesPerS) <= this.#powerCapW
  }

  /**
   * Plans the tenants with the lowest power for the given rates. If none can serve them all, plans the tenants that
   * answer most requests by weight.
   */
  #planFor(ratesPerS: readonly number[]): Configuration | undefined {
    const load = { services: this.#watches.map(({ service }) => service), ratesPerS, powerCapW: this.#powerCapW }
    const plan = this.#plan(load, 'min-power')
    if (plan && this.#canServe(this.#clocksFor(plan.tenants, plan.memClockMhz), ratesPerS)) return plan
    return this.#plan(load, 'max-value') ?? plan
  }

  #clocksFor(tenants: readonly Tenant[], memClockMhz: number): ServingClocks {
    const services = this.#watches.map(({ service }) => service)
    return new ServingClocks(this.#model, tenants, services, memClockMhz)
  }

  #adopt({ tenants, memClockMhz }: Pick<Configuration, 'tenants' | 'memClockMhz'>): Action {
    this.#admission = undefined
    this.#memories = this.#model.memClocksMhz.map((clockMhz) => this.#clocksFor(tenants, clockMhz))
    this.#clocks = this.#memories.find((clocks) => clocks.memClockMhz === memClockMhz)!
    this.#smClockMhz = this.#ceilingMhz(this.#clocks.smClocksMhz.at(-1)!)
    return { tenants, memClockMhz, smClockMhz: this.#smClockMhz }
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, timeMs: this.#timeMs, ...details })
  }
}

/**
 * True if the queue drains within half the objective, so that its last request still meets the objective. The queue
 * counts as at least the fraction `part` of the largest batch, because that many requests may arrive at once.
 */
function drains({ queued, service }: ServiceWatch, capacityPerS: number, part: number): boolean {
  const { maxBatchSize, objective } = service
  return 1000 * Math.max(queued, part * maxBatchSize) <= DRAIN * objective.p99Ms * capacityPerS
}

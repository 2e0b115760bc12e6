import type { Configuration, GpuSpec, Service, Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation, ServiceWindow, WindowObservation } from '@pctodl/scheduler'
import { backStop } from '../board-limit.js'
import { guardedIndex, indexAtMost, workingSmClocks } from '../clock-table.js'
import { SettledPower } from '../settled-power.js'

export interface ServicesBatchDvfsOptions {
  readonly spec: GpuSpec
  /** Those that are there at the start. */
  readonly services: readonly Service[]
  /** Tenants, batches and clocks to start with, and again where other services are to be served. */
  readonly plan: (powerCapW: number, services: readonly Service[]) => Configuration
}

/** A p99 below this share of the objective leaves room for a larger batch, as BatchDVFS leaves room below the cap. */
const ALPHA = 0.85
/** Within this distance from the cap the clock moves by one state, beyond by four, W. */
const NEAR_W = 15
const FAR_STATES = 4

/**
 * BatchDVFS (Nabavinejad, Reda, Ebrahimi, IEEE TPDS 2022) with its latency rule, for several services: every window each service's
 * batch is halved where its p99 is above the objective and doubled where it is well below and requests wait; the clock falls while
 * power is above the cap, and rises while it is well below. The board's limit at the cap is behind it.
 */
export class ServicesBatchDvfsPolicy implements PowerCapPolicy {
  readonly name = 'batchdvfs'
  readonly #options: ServicesBatchDvfsOptions
  readonly #power = new SettledPower()
  #services: readonly Service[]
  #tenants: readonly Tenant[] = []
  #clocksMhz: readonly number[] = []
  #clockIndex = 0
  #powerCapW = 0

  constructor(options: ServicesBatchDvfsOptions) {
    this.#options = options
    this.#services = options.services
  }

  start(powerCapW: number): Action {
    const { spec, plan } = this.#options
    const { tenants, memClockMhz, smClockMhz } = plan(powerCapW, this.#services)
    this.#powerCapW = powerCapW
    this.#tenants = tenants
    this.#clocksMhz = workingSmClocks(spec, memClockMhz)
    this.#clockIndex = indexAtMost(this.#clocksMhz, smClockMhz)
    return { memClockMhz, ...this.#action(), ...backStop(this.#options.spec, this.#powerCapW) }
  }

  onCapChange(powerCapW: number): Action {
    const { plan } = this.#options
    this.#powerCapW = powerCapW
    const { smClockMhz } = plan(powerCapW, this.#services)
    this.#clockIndex = indexAtMost(this.#clocksMhz, smClockMhz)
    return { ...this.#action(), ...backStop(this.#options.spec, this.#powerCapW) }
  }

  onServicesChange(services: readonly Service[]): Action {
    this.#services = services
    return this.start(this.#powerCapW)
  }

  onSample(sample: SampleObservation): undefined {
    this.#power.observe(sample)
  }

  onWindow(window: WindowObservation): Action | undefined {
    const powerW = this.#power.close(window)
    if (powerW === null || window.reconfigured) return undefined
    this.#tenants = this.#tenants.map((tenant) => this.#batch(tenant, window.services ?? []))
    const used = this.#clockIndex
    const step = Math.abs(powerW - this.#powerCapW) <= NEAR_W ? 1 : FAR_STATES
    if (powerW >= this.#powerCapW) this.#clockIndex -= step
    else if (powerW < 0.97 * this.#powerCapW) this.#clockIndex += step
    this.#clockIndex = guardedIndex(this.#clocksMhz, used, this.#clockIndex, powerW, this.#powerCapW)
    return this.#action()
  }

  #batch(tenant: Tenant, windows: readonly ServiceWindow[]): Tenant {
    const window = windows.find(({ service }) => service === tenant.service)
    const service = this.#services.find(({ name }) => name === tenant.service)
    if (!window || !service || window.p99Ms === null) return tenant
    const { p99Ms } = service.objective
    if (window.p99Ms > p99Ms) return { ...tenant, batchSize: Math.max(1, tenant.batchSize >> 1) }
    if (window.p99Ms < ALPHA * p99Ms && window.queued >= tenant.batchSize) {
      return { ...tenant, batchSize: Math.min(service.maxBatchSize, 2 * tenant.batchSize) }
    }
    return tenant
  }

  #action(): Action {
    return { tenants: this.#tenants, smClockMhz: this.#clocksMhz[this.#clockIndex]! }
  }
}

import {
  assertServices,
  attainmentBetween,
  InvalidInputError,
  readingOf,
  type Service,
  type ServiceCounters,
  type ServiceDesk,
  type ServiceReading,
  type Tenant,
} from '@pctodl/platform'
import type { ServiceWindow } from './policy.js'

/**
 * The list of services from a point in time on. Compared with the previous list, services may be new, changed or
 * removed.
 */
export interface ServiceListStep {
  /** Time since the start of the run, ms. */
  readonly atMs: number
  readonly services: readonly Service[]
}

/** The services of a run, and the desk that serves them. */
export interface ServedOptions {
  readonly desk: ServiceDesk
  /** Ascending in time; the first step is at 0. */
  readonly steps: readonly ServiceListStep[]
}

/** The services of a run and their request counters. Removed services stay until no tenant serves them any more. */
export class RunServices {
  readonly #desk: ServiceDesk
  readonly #steps: readonly ServiceListStep[]
  #step = 0
  #leaving: readonly Service[] = []
  #windowBegan: ReadonlyMap<string, ServiceCounters>

  /** @throws InvalidInputError for steps that do not start at 0 or do not ascend */
  constructor({ desk, steps }: ServedOptions) {
    steps.forEach(({ atMs, services }, i) => {
      const inOrder = i === 0 ? atMs === 0 : atMs > steps[i - 1]!.atMs
      if (!inOrder)
        throw new InvalidInputError(`services.steps[${i}].atMs`, atMs, 'times in ms that begin with 0 and rise')
      assertServices(services)
    })
    if (steps.length === 0) throw new InvalidInputError('services.steps', [], 'at least one step, at 0')
    this.#desk = desk
    this.#steps = steps
    desk.serve(this.present)
    this.#windowBegan = byName(desk.counters())
  }

  get present(): readonly Service[] {
    return this.#steps[this.#step]!.services
  }

  readings(): readonly ServiceReading[] {
    return this.#desk.counters().map(readingOf)
  }

  /** @returns whether the list of services has changed */
  advance(timeMs: number): boolean {
    const next = this.#steps[this.#step + 1]
    if (next === undefined || timeMs < next.atMs) return false
    const before = [...this.present, ...this.#leaving]
    this.#step++
    const returned = this.present.filter(({ name }) => this.#leaving.some((service) => service.name === name))
    this.#leaving = before.filter(({ name }) => !this.present.some((service) => service.name === name))
    this.#desk.serve([...this.present, ...this.#leaving])
    for (const { name } of this.#leaving) this.#desk.admit(name, 0)
    for (const { name } of returned) this.#desk.admit(name, 1)
    return true
  }

  /** Drops removed services that no tenant serves any more. */
  dismiss(tenants: readonly Tenant[], reconfiguring: boolean): void {
    if (this.#leaving.length === 0 || reconfiguring) return
    const served = this.#leaving.filter(({ name }) => tenants.some(({ service }) => service === name))
    if (served.length === this.#leaving.length) return
    this.#leaving = served
    this.#desk.serve([...this.present, ...served])
  }

  admit(shares: Readonly<Record<string, number>>): void {
    for (const [name, share] of Object.entries(shares)) {
      if (this.present.some((service) => service.name === name)) this.#desk.admit(name, share)
    }
  }

  /** Counts of each service since the last call. */
  closeWindow(): readonly ServiceWindow[] {
    const counters = this.#desk.counters()
    const windows = counters.map((later) => {
      const earlier = this.#windowBegan.get(later.service)
      const latencies = earlier ? later.latencies.since(earlier.latencies) : later.latencies
      const since = (key: 'arrived' | 'completed' | 'late' | 'shed' | 'failed') => later[key] - (earlier?.[key] ?? 0)
      const quantile = (share: number) => (latencies.count === 0 ? null : latencies.quantileMs(share))
      return {
        service: later.service,
        arrived: since('arrived'),
        completed: since('completed'),
        late: since('late'),
        shed: since('shed'),
        failed: since('failed'),
        queued: later.queued,
        p50Ms: quantile(0.5),
        p99Ms: quantile(0.99),
        attainment: earlier ? attainmentBetween(earlier, later) : null,
      }
    })
    this.#windowBegan = byName(counters)
    return windows
  }
}

function byName(counters: readonly ServiceCounters[]): ReadonlyMap<string, ServiceCounters> {
  return new Map(counters.map((entry) => [entry.service, entry]))
}

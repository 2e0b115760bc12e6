import {
  assertServices,
  assertTenants,
  type Configuration,
  InvalidInputError,
  type Service,
  type Tenant,
} from '@pctodl/platform'
import { assertModel, type PerfModel } from '../perf-model.js'
import { type BatchCosts, BatchCostTable, batchSizesUpTo } from './batch-costs.js'
import { BatchQueue } from './batch-queue.js'

/** Fraction of requests that must be answered within the objective for the objective to be met. */
const WANTED = 0.99

export interface ServicePrediction {
  readonly service: string
  /** Percentiles of the latency from arrival to answer, ms; Infinity if the tenants cannot keep up. */
  readonly p50Ms: number
  readonly p90Ms: number
  readonly p99Ms: number
  /** Fraction of the requests answered within the objective's p99, 0..1. */
  readonly attainment: number
  /** Whether `attainment` is at least 0.99. */
  readonly objectiveMet: boolean
  /** Fraction of time in which a tenant of the service is busy, 0..1. */
  readonly utilisation: number
  /** Mean number of requests in a batch. */
  readonly meanBatch: number
  /** Answered requests/s: the arrival rate, or the capacity if overloaded. */
  readonly answeredPerS: number
  /** Maximum requests/s that the service's tenants could answer at the present load of the other services. */
  readonly capacityPerS: number
}

export interface ServingPrediction {
  /** Mean board power, W. */
  readonly powerW: number
  /** Predictions in the order of the services. */
  readonly services: readonly ServicePrediction[]
}

/** Maximum rounds of the fixed-point iteration between batch times and utilisations. */
const ROUNDS = 30
/** Largest change of a utilisation at which the iteration has converged. */
const SETTLED = 0.001
/** Initial utilisation. */
const FIRST_UTILISATION = 0.5

interface ServiceTimes {
  readonly service: Service
  /** Sum of the `mpsPercent` of the service's tenants. */
  readonly shares: number
  readonly instances: number
  readonly tenants: readonly TenantTimes[]
  readonly queue: BatchQueue
  /** Batch times of the service's tenants with the present co-runners, by size, ms. */
  readonly batchMs: Float64Array
  utilisation: number
}

/** Batch times of those tenants of a service that have the same share. */
interface TenantTimes extends BatchCosts {
  readonly mpsPercent: number
  count: number
  /** Batch times while all other tenants run, by size, ms. */
  readonly togetherMs: Float64Array
}

/**
 * Predicts latency, attainment and power of a configuration at given request rates. Batch times are predicted once for
 * each size that a tenant runs, both alone and with all other tenants running. The sizes are powers of two and the
 * largest size; a batch is padded to the next size. At given rates, the co-runners run for a fraction of the time.
 * Batch times are interpolated by this fraction, and each service is then a batch queue (`BatchQueue`).
 */
export class ServingModel {
  readonly #services: readonly ServiceTimes[]
  readonly #idleW: number

  /**
   * @param configuration every tenant names a service; tenants of one service have equal batch sizes
   * @param options.costs cached batch costs, to share with other configurations of the same model
   * @throws InvalidInputError that names the field, and what the model throws
   */
  constructor(
    model: PerfModel,
    configuration: Configuration,
    services: readonly Service[],
    { costs = new BatchCostTable(model) }: { readonly costs?: BatchCostTable } = {},
  ) {
    assertModel(model)
    assertServices(services)
    const { tenants, smClockMhz, memClockMhz } = Object(configuration) as Configuration
    assertTenants(tenants)
    tenants.forEach(({ service: name, model: network }, i) => {
      const service = services.find((candidate) => candidate.name === name)
      if (!service) {
        throw new InvalidInputError(`tenants[${i}].service`, name, services.map((each) => each.name).join(' or '))
      }
      if (service.model !== network) {
        throw new InvalidInputError(`tenants[${i}].model`, network, `'${service.model}', the network of ${name}`)
      }
    })
    if (costs.model !== model) throw new InvalidInputError('costs', costs, 'a table of the same model')
    const own = services.map((service) => tenants.filter((tenant) => tenant.service === service.name))
    const sized = own.map((of, i) => {
      if (of.length === 0) throw new InvalidInputError('tenants', services[i]!.name, 'a tenant for each service')
      if (of.some(({ batchSize }) => batchSize !== of[0]!.batchSize)) {
        throw new InvalidInputError('tenants', services[i]!.name, 'one batch size for all tenants of a service')
      }
      const most = Math.min(of[0]!.batchSize, services[i]!.maxBatchSize)
      return of.map((tenant) => ({ ...tenant, batchSize: most }))
    })
    const mix = sized.flat()
    const atLargest = model.predict({ tenants: mix, smClockMhz, memClockMhz }).tenants
    const ofOne = model.predict({ tenants: mix.map(withOne), smClockMhz, memClockMhz }).tenants
    this.#idleW = costs.idlePowerW(smClockMhz, memClockMhz)
    let index = 0
    this.#services = services.map((service, i) => {
      const of = sized[i]!
      const sizes = batchSizesUpTo(of[0]!.batchSize)
      const kinds: TenantTimes[] = []
      let shares = 0
      for (const { model: network, mpsPercent } of of) {
        const alike = kinds.find((kind) => kind.mpsPercent === mpsPercent)
        if (alike !== undefined) alike.count++
        else {
          const alone = costs.of(network, mpsPercent, sizes, smClockMhz, memClockMhz)
          const togetherMs = together(alone, ofOne[index]!.latencyMs, atLargest[index]!.latencyMs)
          kinds.push({ mpsPercent, count: 1, aloneMs: alone.aloneMs, energyJ: alone.energyJ, togetherMs })
        }
        shares += mpsPercent
        index++
      }
      return {
        service,
        shares,
        instances: of.length,
        tenants: kinds,
        queue: new BatchQueue(sizes),
        batchMs: new Float64Array(sizes.length),
        utilisation: FIRST_UTILISATION,
      }
    })
  }

  /**
   * Predict power, and latency and attainment of each service.
   *
   * @param ratesPerS requests/s, in the order of the services, each above 0
   * @param burstiness variance-to-mean ratio of the number of requests in an interval about as long as the p99, in the
   * order of the services, from 1 to 1000; default 1
   * @throws InvalidInputError for other rates or burstiness
   */
  predict(ratesPerS: readonly number[], burstiness?: readonly number[]): ServingPrediction {
    const powerW = this.#solve(ratesPerS, burstiness)
    return { powerW, services: this.#services.map((of, i) => describe(of, ratesPerS[i]!)) }
  }

  /**
   * Predict attainment and power without the latency quantiles. Searches use it because it is faster than `predict`.
   *
   * @param into receives the fraction of requests answered within the objective, in the order of the services; 0 if
   * overloaded
   * @param capacitiesPerS receives each service's capacity, as `ServicePrediction.capacityPerS`
   * @returns mean board power, W
   * @throws what `predict` throws
   */
  attainments(
    ratesPerS: readonly number[],
    into: Float64Array,
    burstiness?: readonly number[],
    capacitiesPerS?: Float64Array,
  ): number {
    const powerW = this.#solve(ratesPerS, burstiness)
    this.#services.forEach((of, i) => {
      into[i] = of.queue.within(of.service.objective.p99Ms)
      if (capacitiesPerS) capacitiesPerS[i] = capacityOf(of)
    })
    return powerW
  }

  #solve(ratesPerS: readonly number[], burstiness: readonly number[] | undefined): number {
    const services = this.#services
    assertList('ratesPerS', ratesPerS, services.length, 'requests/s above 0', (rate) => rate > 0 && rate < Infinity)
    if (burstiness !== undefined) {
      assertList('burstiness', burstiness, services.length, 'a number from 1 to 1000', (x) => x >= 1 && x <= 1000)
    }
    // Utilisations reinforce each other, so the iteration might not recover from the utilisation of an overload.
    for (const of of services) if (of.queue.overloaded) of.utilisation = FIRST_UTILISATION
    let moved = 1
    for (let round = 0; round < ROUNDS && moved > SETTLED; round++) {
      moved = 0
      for (let i = 0; i < services.length; i++) {
        const of = services[i]!
        this.#adoptNeighbours(of)
        of.queue.solve({
          ratePerMs: ratesPerS[i]! / 1000,
          batchMs: of.batchMs,
          servers: of.instances,
          delayMs: of.service.maxQueueDelayMs,
          burstiness: burstiness?.[i] ?? 1,
        })
        moved = Math.max(moved, Math.abs(of.queue.utilisation - of.utilisation))
        of.utilisation = of.queue.utilisation
      }
    }
    let powerW = this.#idleW
    for (const of of services) powerW += powerOf(of)
    return powerW
  }

  /**
   * Interpolate batch times between running alone and running with all others, by the fraction of time that the others
   * run.
   */
  #adoptNeighbours(of: ServiceTimes): void {
    let running = 0
    let shares = 0
    for (const other of this.#services) {
      // In its own service, count all tenants but one.
      const part = other === of ? (other.shares * (other.instances - 1)) / other.instances : other.shares
      running += part * other.utilisation
      shares += part
    }
    const part = shares === 0 ? 0 : running / shares
    for (let s = 0; s < of.batchMs.length; s++) {
      let perMs = 0
      for (const { aloneMs, togetherMs, count } of of.tenants) {
        perMs += count / (aloneMs[s]! + part * (togetherMs[s]! - aloneMs[s]!))
      }
      of.batchMs[s] = of.instances / perMs
    }
  }
}

/**
 * Batch times while all others run. The slowdown of a batch of one is predicted with every tenant at batch size 1; the
 * slowdown of the largest batch, with every tenant at its largest size. Between these two, the slowdown is linear in
 * the index of the size.
 */
function together({ aloneMs }: BatchCosts, ofOneMs: number, largestMs: number): Float64Array {
  const last = aloneMs.length - 1
  const top = Math.max(1, largestMs / aloneMs[last]!)
  const bottom = last === 0 ? top : Math.max(1, ofOneMs / aloneMs[0]!)
  const togetherMs = new Float64Array(last + 1)
  for (let s = 0; s <= last; s++) togetherMs[s] = aloneMs[s]! * (bottom + ((top - bottom) * s) / Math.max(1, last))
  return togetherMs
}

function withOne(tenant: Tenant): Tenant {
  return { ...tenant, batchSize: 1 }
}

/** Power above idle, W: batch rate times the energy of a batch, summed over the batch sizes. */
function powerOf({ queue, tenants, instances }: ServiceTimes): number {
  let perBatchJ = 0
  for (let s = 0; s < queue.sizes.length; s++) {
    for (const { energyJ, count } of tenants) perBatchJ += (queue.shares[s]! * energyJ[s]! * count) / instances
  }
  return 1000 * queue.batchesPerMs * perBatchJ
}

/** Requests/s of a service whose tenants all run full batches beside the present co-runners. */
function capacityOf({ queue, batchMs, instances }: ServiceTimes): number {
  return (1000 * queue.sizes.at(-1)! * instances) / batchMs.at(-1)!
}

function describe(of: ServiceTimes, ratePerS: number): ServicePrediction {
  const { service, queue } = of
  const most = queue.sizes.at(-1)!
  const attainment = queue.within(service.objective.p99Ms)
  const capacityPerS = capacityOf(of)
  return {
    service: service.name,
    p50Ms: queue.quantileMs(0.5),
    p90Ms: queue.quantileMs(0.9),
    p99Ms: queue.quantileMs(0.99),
    attainment,
    objectiveMet: attainment >= WANTED,
    utilisation: queue.utilisation,
    meanBatch: queue.overloaded ? most : Math.min(most, Math.max(1, ratePerS / 1000 / queue.batchesPerMs)),
    answeredPerS: queue.overloaded ? capacityPerS : ratePerS,
    capacityPerS,
  }
}

function assertList(
  field: string,
  list: readonly number[],
  count: number,
  expected: string,
  holds: (value: number) => boolean,
): void {
  if (list?.length !== count) throw new InvalidInputError(field, list?.length, `${count} numbers, one a service`)
  for (let i = 0; i < count; i++) {
    if (!(typeof list[i] === 'number' && holds(list[i]!)))
      throw new InvalidInputError(`${field}[${i}]`, list[i], expected)
  }
}

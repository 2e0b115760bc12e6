import { assertServices, type Configuration, InvalidInputError, type Service, type Tenant } from '@pctodl/platform'
import type { PerfModel } from '../perf-model.js'
import type { Predictor } from '../predictor.js'
import { BatchQueue } from './batch-queue.js'
import { idlePower } from './idle-power.js'

export interface ServicePrediction {
  readonly service: string
  /** From arrival to answer, ms; Infinity where the tenants cannot keep up. */
  readonly p50Ms: number
  readonly p90Ms: number
  readonly p99Ms: number
  /** Share of the requests that are answered within the objective's p99, 0..1. */
  readonly attainment: number
  /** Whether at least 99 of 100 are. */
  readonly objectiveMet: boolean
  /** Share of the time in which a tenant of the service runs, 0..1. */
  readonly utilisation: number
  /** Requests in a batch, on average. */
  readonly meanBatch: number
  /** Requests/s that are answered: those that arrive, or as many as the tenants can. */
  readonly answeredPerS: number
}

export interface ServingPrediction {
  /** Mean board power, W. */
  readonly powerW: number
  /** In the order of the services. */
  readonly services: readonly ServicePrediction[]
}

export interface ServingModelOptions {
  /** Power of the board at its clocks while its processes wait, W. Needed for a predictor that is no `PerfModel`. */
  readonly idlePowerW?: number
}

/** Rounds in which batch times and utilisations find each other, and the change of a utilisation at which they have. */
const ROUNDS = 6
const SETTLED = 0.002

/** One tenant's batch times and energies by the sizes that it runs. */
interface TenantTimes {
  readonly tenant: Tenant
  /** ms, by size; while no other tenant runs, and while all do. */
  readonly aloneMs: Float64Array
  readonly togetherMs: Float64Array
  /** Above the waiting board, J a batch, by size. */
  readonly energyJ: Float64Array
}

interface ServiceTimes {
  readonly service: Service
  readonly tenants: readonly TenantTimes[]
  readonly most: number
  readonly sizes: readonly number[]
  readonly queue: BatchQueue
  /** Batch times of the service's tenants at the present neighbours, by the number of requests, ms. */
  readonly batchMs: Float64Array
  utilisation: number
}

/**
 * Predicts what requests meet on a configuration: latency, attainment and power at given rates. Batch times come from the
 * predictor once, for each size that a tenant runs (powers of two and the largest: a batch is filled up to the next), alone and
 * beside all others; at given rates a tenant's neighbours are there for their share of the time, and what is left is a queue of
 * batches (`BatchQueue`).
 */
export class ServingModel {
  readonly #services: readonly ServiceTimes[]
  readonly #idleW: number

  /**
   * @param configuration every tenant names a service; those of one service have one batch size
   * @throws InvalidInputError naming the field; what the predictor throws
   */
  constructor(
    predictor: Predictor,
    configuration: Configuration,
    services: readonly Service[],
    options: ServingModelOptions = {},
  ) {
    assertServices(services)
    const { tenants, smClockMhz, memClockMhz } = configuration
    tenants.forEach(({ service: name, model }, i) => {
      const service = services.find((candidate) => candidate.name === name)
      if (!service) {
        throw new InvalidInputError(`tenants[${i}].service`, name, services.map((each) => each.name).join(' or '))
      }
      if (service.model !== model) {
        throw new InvalidInputError(`tenants[${i}].model`, model, `'${service.model}', the network of ${name}`)
      }
    })
    const { parameters } = predictor as Partial<PerfModel>
    if (options.idlePowerW === undefined && parameters === undefined) {
      throw new InvalidInputError('idlePowerW', undefined, 'watts, for a predictor that is no PerfModel')
    }
    this.#idleW = options.idlePowerW ?? idlePower(parameters!, predictor.spec.boostClockMhz, smClockMhz, memClockMhz)
    const operating = { smClockMhz, memClockMhz }
    this.#services = services.map((service) => {
      const own = tenants.filter((tenant) => tenant.service === service.name)
      if (own.length === 0) throw new InvalidInputError('tenants', service.name, 'a tenant for each service')
      if (own.some(({ batchSize }) => batchSize !== own[0]!.batchSize)) {
        throw new InvalidInputError('tenants', service.name, 'one batch size for all tenants of a service')
      }
      const most = Math.min(own[0]!.batchSize, service.maxBatchSize)
      const sizes: number[] = []
      for (let size = 1; size < most; size *= 2) sizes.push(size)
      sizes.push(most)
      return {
        service,
        most,
        sizes,
        tenants: own.map((tenant) => this.#timesOf(predictor, tenant, tenants, sizes, operating)),
        queue: new BatchQueue(most),
        batchMs: new Float64Array(most + 1),
        utilisation: 0.5,
      }
    })
  }

  /**
   * @param ratesPerS requests/s, in the order of the services, each above 0
   * @throws InvalidInputError for other rates
   */
  predict(ratesPerS: readonly number[]): ServingPrediction {
    const services = this.#services
    if (ratesPerS.length !== services.length) {
      throw new InvalidInputError('ratesPerS', ratesPerS.length, `${services.length} rates, one a service`)
    }
    ratesPerS.forEach((rate, i) => {
      if (!(rate > 0 && rate < Infinity)) throw new InvalidInputError(`ratesPerS[${i}]`, rate, 'requests/s above 0')
    })
    let moved = 1
    for (let round = 0; round < ROUNDS && moved > SETTLED; round++) {
      moved = 0
      for (let i = 0; i < services.length; i++) {
        const of = services[i]!
        this.#adoptNeighbours(of)
        of.queue.solve({
          ratePerMs: ratesPerS[i]! / 1000,
          most: of.most,
          batchMs: of.batchMs,
          servers: of.tenants.length,
          delayMs: of.service.maxQueueDelayMs,
        })
        moved = Math.max(moved, Math.abs(of.queue.utilisation - of.utilisation))
        of.utilisation = of.queue.utilisation
      }
    }
    return {
      powerW: this.#idleW + services.reduce((sum, of) => sum + powerOf(of), 0),
      services: services.map((of, i) => describe(of, ratesPerS[i]!)),
    }
  }

  #timesOf(
    predictor: Predictor,
    tenant: Tenant,
    tenants: readonly Tenant[],
    sizes: readonly number[],
    operating: { readonly smClockMhz: number; readonly memClockMhz: number },
  ): TenantTimes {
    const index = tenants.indexOf(tenant)
    const aloneMs = new Float64Array(sizes.length)
    const togetherMs = new Float64Array(sizes.length)
    const energyJ = new Float64Array(sizes.length)
    sizes.forEach((batchSize, s) => {
      const sized = { ...tenant, batchSize }
      const alone = predictor.predict({ tenants: [sized], ...operating })
      aloneMs[s] = alone.tenants[0]!.latencyMs
      energyJ[s] = Math.max(0, (alone.powerW - this.#idleW) * aloneMs[s]!) / 1000
      const together = predictor.predict({ tenants: tenants.with(index, sized), ...operating })
      togetherMs[s] = Math.max(aloneMs[s]!, together.tenants[index]!.latencyMs)
    })
    return { tenant, aloneMs, togetherMs, energyJ }
  }

  /** Batch times between those alone and those beside all others, by how much of the time the others run. */
  #adoptNeighbours(of: ServiceTimes): void {
    let running = 0
    let shares = 0
    for (const other of this.#services) {
      // Of its own service all but one.
      const count = other.tenants.length - (other === of ? 1 : 0)
      running += count * other.utilisation * other.tenants[0]!.tenant.mpsPercent
      shares += count * other.tenants[0]!.tenant.mpsPercent
    }
    const part = shares === 0 ? 0 : running / shares
    let s = 0
    for (let count = 1; count <= of.most; count++) {
      if (count > of.sizes[s]!) s++
      let perMs = 0
      for (const { aloneMs, togetherMs } of of.tenants)
        perMs += 1 / (aloneMs[s]! + part * (togetherMs[s]! - aloneMs[s]!))
      of.batchMs[count] = of.tenants.length / perMs
    }
  }
}

/** Batches of each size, times what one takes. */
function powerOf({ queue, sizes, tenants, most }: ServiceTimes): number {
  let perBatchJ = 0
  let s = 0
  for (let count = 1; count <= most; count++) {
    if (count > sizes[s]!) s++
    let energyJ = 0
    for (const tenant of tenants) energyJ += tenant.energyJ[s]! / tenants.length
    perBatchJ += queue.sizes[count]! * energyJ
  }
  return 1000 * queue.batchesPerMs * perBatchJ
}

function describe({ service, queue, most, batchMs, tenants }: ServiceTimes, ratePerS: number): ServicePrediction {
  let meanBatch = 0
  for (let count = 1; count <= most; count++) meanBatch += count * queue.sizes[count]!
  const attainment = queue.within(service.objective.p99Ms)
  return {
    service: service.name,
    p50Ms: queue.quantileMs(0.5),
    p90Ms: queue.quantileMs(0.9),
    p99Ms: queue.quantileMs(0.99),
    attainment,
    objectiveMet: attainment >= 0.99,
    utilisation: queue.utilisation,
    meanBatch,
    answeredPerS: queue.overloaded ? (1000 * most * tenants.length) / batchMs[most]! : ratePerS,
  }
}

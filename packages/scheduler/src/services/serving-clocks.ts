import type { PerfModel } from '@pctodl/perf-model'
import { type ServicePrediction, ServingModel } from '@pctodl/perf-model/serving'
import { type Service, smClocksAt, type Tenant } from '@pctodl/platform'

/** Share of the requests that must be answered within the objective. */
const WANTED = 0.99

interface ClockPrediction {
  /** Mean board power, W. */
  readonly powerW: number
  readonly services: readonly Pick<ServicePrediction, 'service' | 'objectiveMet' | 'capacityPerS'>[]
}

/** Predicts which clock given tenants need for given rates. The model is prepared once for each clock. */
export class ServingClocks {
  readonly tenants: readonly Tenant[]
  readonly memClockMhz: number
  readonly smClocksMhz: readonly number[]
  readonly #model: PerfModel
  readonly #services: readonly Service[]
  readonly #models = new Map<number, ServingModel>()

  /** @throws InvalidInputError if a service has no tenant */
  constructor(model: PerfModel, tenants: readonly Tenant[], services: readonly Service[], memClockMhz: number) {
    this.#model = model
    this.tenants = tenants
    this.#services = services
    this.memClockMhz = memClockMhz
    this.smClocksMhz = smClocksAt(model.spec, memClockMhz)!
  }

  predict(smClockMhz: number, ratesPerS: readonly number[], burstiness?: readonly number[]): ClockPrediction {
    const attainments = new Float64Array(ratesPerS.length)
    const capacities = new Float64Array(ratesPerS.length)
    const rates = ratesPerS.map((rate) => Math.max(0.01, rate))
    const powerW = this.#serving(smClockMhz).attainments(rates, attainments, burstiness, capacities)
    const services = this.#services.map(({ name }, i) => {
      return { service: name, objectiveMet: attainments[i]! >= WANTED, capacityPerS: capacities[i]! }
    })
    return { powerW, services }
  }

  #serving(smClockMhz: number): ServingModel {
    let serving = this.#models.get(smClockMhz)
    if (!serving) {
      const { tenants, memClockMhz } = this
      serving = new ServingModel(this.#model, { tenants, smClockMhz, memClockMhz }, this.#services)
      this.#models.set(smClockMhz, serving)
    }
    return serving
  }

  /** Whether all services meet their objectives at a clock. */
  keeps(smClockMhz: number, ratesPerS: readonly number[], burstiness?: readonly number[]): boolean {
    return this.predict(smClockMhz, ratesPerS, burstiness).services.every(({ objectiveMet }) => objectiveMet)
  }

  /** The lowest clock at which all services meet their objectives; undefined if there is none. */
  lowest(ratesPerS: readonly number[], burstiness?: readonly number[]): number | undefined {
    return this.smClocksMhz[firstWhere(this.smClocksMhz, (clock) => this.keeps(clock, ratesPerS, burstiness))]
  }

  /**
   * The largest factor by which all rates can be multiplied so that the services still meet their objectives at this
   * clock; 0 if it is below 0.01.
   */
  loadFactor(smClockMhz: number, ratesPerS: readonly number[]): number {
    let low = 0.01
    let high = 16
    const keeps = (factor: number) =>
      this.keeps(
        smClockMhz,
        ratesPerS.map((rate) => factor * rate),
      )
    if (!keeps(low)) return 0
    while (high / low > 1.02) {
      const middle = Math.sqrt(low * high)
      if (keeps(middle)) low = middle
      else high = middle
    }
    return low
  }
}

/** Index of the first value for which a condition holds, if it also holds for all later ones; the length if none. */
export function firstWhere(values: readonly number[], holds: (value: number) => boolean): number {
  let low = -1
  let high = values.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (holds(values[middle]!)) high = middle
    else low = middle
  }
  return high
}

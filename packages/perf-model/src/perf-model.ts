import {
  type Configuration,
  findGpuSpec,
  type GpuSpec,
  InvalidInputError,
  MAX_MPS_CLIENTS,
  smClocksAt,
  smsOfShare,
  type Tenant,
  UnknownNameError,
} from '@pctodl/platform'
import { boardConstants } from './board-constants.js'
import { Evaluator } from './evaluator.js'
import type { NetworkParameters, PerfModelParameters } from './parameters.js'
import type { Prediction, Predictor, TenantPrediction } from './predictor.js'
import { tenantLayout, writeTenantCoefficients } from './tenant-coefficients.js'

/** Largest batch that the model accepts; the traces that it is fitted to end there. */
export const MAX_BATCH_SIZE = 256

/** Where `predictInto` writes; make one with `predictionBuffer` and use it again and again. */
export interface PredictionBuffer {
  throughput: number
  powerW: number
  smUtilPercent: number
  memUtilPercent: number
  /** Samples/s; entries beyond the configuration's tenants keep old values. */
  readonly tenantThroughput: Float64Array
  readonly tenantLatencyMs: Float64Array
}

export function predictionBuffer(): PredictionBuffer {
  return {
    throughput: 0,
    powerW: 0,
    smUtilPercent: 0,
    memUtilPercent: 0,
    tenantThroughput: new Float64Array(MAX_MPS_CLIENTS),
    tenantLatencyMs: new Float64Array(MAX_MPS_CLIENTS),
  }
}

/**
 * Predicts what any mix of the fitted networks does on one board. A prediction does not depend on the order of the tenants;
 * every tenant's throughput rises with the SM clock, with the memory clock and with its own share, and power rises with
 * the SM clock (all to a relative 1e-9).
 */
export class PerfModel implements Predictor {
  readonly spec: GpuSpec
  readonly memClocksMhz: readonly number[]
  /** Names of the fitted networks. */
  readonly networks: readonly string[]
  readonly #parameters: PerfModelParameters
  readonly #networkIndex: ReadonlyMap<string, number>
  readonly #kindsPerNetwork: number
  /** Coefficients of every possible kind of tenant, written when first asked for. */
  readonly #coefficients: Float64Array
  readonly #evaluator: Evaluator
  readonly #lowestClocksMhz: readonly number[]
  readonly #highestClocksMhz: readonly number[]

  /**
   * @param parameters checked ones, from `parsePerfModelParameters` or `fitPerfModel`
   * @param spec the board, where it is not one that `@pctodl/platform` knows
   * @throws InvalidInputError where the parameters belong to another board, or to a memory clock that it does not have
   */
  constructor(parameters: PerfModelParameters, spec: GpuSpec = findGpuSpec(parameters.board)) {
    if (parameters.board !== spec.key) {
      throw new InvalidInputError('parameters.board', parameters.board, `'${spec.key}', the board of the model`)
    }
    const constants = boardConstants(spec, parameters.boardParameters)
    const clocks = constants.memClocksMhz.map((memClockMhz) => {
      const states = smClocksAt(spec, memClockMhz)
      if (states === undefined) {
        const known = spec.clockStates.map((state) => state.memClockMhz).join(', ')
        throw new InvalidInputError('parameters.idlePowerW', memClockMhz, `memory clocks of ${spec.key}: ${known}`)
      }
      return states
    })
    this.spec = spec
    this.memClocksMhz = constants.memClocksMhz
    this.networks = parameters.networks.map((network) => network.name)
    this.#parameters = parameters
    this.#networkIndex = new Map(this.networks.map((name, index) => [name, index]))
    this.#lowestClocksMhz = clocks.map((states) => states[0]!)
    this.#highestClocksMhz = clocks.map((states) => states.at(-1)!)
    this.#kindsPerNetwork = (spec.smCount / spec.smPerTpc) * MAX_BATCH_SIZE
    this.#coefficients = new Float64Array(this.networks.length * this.#kindsPerNetwork * tenantLayout.stride)
    this.#evaluator = new Evaluator(constants, this.#coefficients)
  }

  /**
   * @throws UnknownNameError for a network that was not fitted
   * @throws InvalidInputError for tenants that no board could run, a batch above 256, a memory clock that was not fitted,
   * or an SM clock outside the board's range. A clock between two states is accepted: measured means lie there.
   */
  predict(configuration: Configuration): Prediction {
    const evaluator = this.#evaluate(configuration)
    const { throughput, latencyMs } = evaluator
    const count = configuration.tenants.length
    const tenants = new Array<TenantPrediction>(count)
    for (let i = 0; i < count; i++) tenants[i] = { throughput: throughput[i]!, latencyMs: latencyMs[i]! }
    return {
      throughput: evaluator.totalThroughput,
      powerW: evaluator.powerW,
      smUtilPercent: evaluator.smUtilPercent,
      memUtilPercent: evaluator.memUtilPercent,
      tenants,
    }
  }

  /** `predict` without allocation, for searches. Throws what `predict` throws, before anything is written. */
  predictInto(configuration: Configuration, out: PredictionBuffer): void {
    const evaluator = this.#evaluate(configuration)
    out.throughput = evaluator.totalThroughput
    out.powerW = evaluator.powerW
    out.smUtilPercent = evaluator.smUtilPercent
    out.memUtilPercent = evaluator.memUtilPercent
    for (let i = 0; i < configuration.tenants.length; i++) {
      out.tenantThroughput[i] = evaluator.throughput[i]!
      out.tenantLatencyMs[i] = evaluator.latencyMs[i]!
    }
  }

  /**
   * Bisects the board's table, which is exact because predicted power rises with the clock.
   *
   * @throws what `predict` throws, and InvalidInputError for a cap that is not a number
   */
  solveSmClock(tenants: readonly Tenant[], memClockMhz: number, powerCapW: number): number | undefined {
    if (Number.isNaN(powerCapW)) throw new InvalidInputError('powerCapW', powerCapW, 'a number of watts')
    const memIndex = this.#memIndex(memClockMhz)
    this.#enter(tenants, memIndex)
    const clocks = smClocksAt(this.spec, memClockMhz)!
    let low = -1
    let high = clocks.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      this.#evaluator.at(clocks[middle]!)
      if (this.#evaluator.powerW <= powerCapW) low = middle
      else high = middle
    }
    return clocks[low]
  }

  /** @throws UnknownNameError for a network that was not fitted; InvalidInputError for a batch outside 1..256 */
  memoryBytes(tenant: Tenant): number {
    const network = this.#network(tenant.model)
    assertBatch(tenant.batchSize, 0)
    return Math.ceil((network.memoryBaseMib + network.memoryPerSampleMib * tenant.batchSize) * 1024 ** 2)
  }

  #evaluate({ tenants, smClockMhz, memClockMhz }: Configuration): Evaluator {
    const memIndex = this.#memIndex(memClockMhz)
    const lowest = this.#lowestClocksMhz[memIndex]!
    const highest = this.#highestClocksMhz[memIndex]!
    if (!(smClockMhz >= lowest && smClockMhz <= highest)) {
      throw new InvalidInputError('smClockMhz', smClockMhz, `a clock from ${lowest} to ${highest} MHz`)
    }
    this.#enter(tenants, memIndex)
    this.#evaluator.at(smClockMhz)
    return this.#evaluator
  }

  #enter(tenants: readonly Tenant[], memIndex: number): void {
    const count = tenants.length
    if (count < 1 || count > MAX_MPS_CLIENTS) {
      throw new InvalidInputError('tenants', count, `from 1 to ${MAX_MPS_CLIENTS} tenants`)
    }
    let shares = 0
    for (let i = 0; i < count; i++) {
      const tenant = tenants[i]!
      this.#evaluator.offsets[i] = this.#offsetOf(tenant, i)
      shares += tenant.mpsPercent
    }
    if (shares > 100 + 1e-9) {
      throw new InvalidInputError('sum of tenants[].mpsPercent', shares, 'at most 100; the model knows no time slicing')
    }
    this.#evaluator.begin(count, memIndex)
  }

  #offsetOf({ model, mpsPercent, batchSize }: Tenant, i: number): number {
    if (!(mpsPercent > 0 && mpsPercent <= 100)) {
      throw new InvalidInputError(`tenants[${i}].mpsPercent`, mpsPercent, 'a share above 0 and at most 100')
    }
    assertBatch(batchSize, i)
    const network = this.#networkIndex.get(model)
    if (network === undefined) throw new UnknownNameError('network', model, this.networks)
    const sms = smsOfShare(this.spec, mpsPercent)
    const kind = (sms / this.spec.smPerTpc - 1) * MAX_BATCH_SIZE + batchSize - 1
    const offset = (network * this.#kindsPerNetwork + kind) * tenantLayout.stride
    if (this.#coefficients[offset + tenantLayout.sms] === 0) {
      const { boardParameters, networks } = this.#parameters
      writeTenantCoefficients(boardParameters, networks[network]!, sms, batchSize, this.#coefficients, offset)
      this.#evaluator.writeDemands(offset)
    }
    return offset
  }

  #network(name: string): NetworkParameters {
    const index = this.#networkIndex.get(name)
    if (index === undefined) throw new UnknownNameError('network', name, this.networks)
    return this.#parameters.networks[index]!
  }

  #memIndex(memClockMhz: number): number {
    const index = this.memClocksMhz.indexOf(memClockMhz)
    if (index < 0) {
      throw new InvalidInputError('memClockMhz', memClockMhz, `a fitted memory clock: ${this.memClocksMhz.join(', ')}`)
    }
    return index
  }
}

function assertBatch(batchSize: number, i: number): void {
  if (!(Number.isInteger(batchSize) && batchSize >= 1 && batchSize <= MAX_BATCH_SIZE)) {
    throw new InvalidInputError(`tenants[${i}].batchSize`, batchSize, `an integer from 1 to ${MAX_BATCH_SIZE}`)
  }
}

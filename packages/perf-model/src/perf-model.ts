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
import { type Domain, domainOf } from './domain.js'
import { Evaluator } from './evaluator.js'
import { KindTable } from './kind-table.js'
import { type NetworkParameters, type PerfModelParameters, parsePerfModelParameters } from './parameters.js'
import { assertBatchArrays, type BatchInput, type BatchOutput, batchOutput } from './prediction-batch.js'
import type { PredictionBuffer } from './prediction-buffer.js'
import type { Prediction, Predictor, TenantPrediction } from './predictor.js'
import { mixIndex, regionOf, SpreadTable } from './spread.js'
import { MAX_BATCH_SIZE } from './tenant-coefficients.js'

/** The 99th percentile of the normal distribution, in standard deviations. */
const Z99 = 2.326348

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
  readonly #kinds: KindTable
  readonly #evaluator: Evaluator
  readonly #spread: SpreadTable
  /** SMs of a share, in TPCs, by whole percent: the division is not worth doing again. */
  readonly #tpcs: Int32Array
  /** Region of the tenants that the evaluator holds. */
  #region = 0
  /** Tenants and memory clock that the evaluator holds; 0 tenants: none. */
  #heldCount = 0
  #heldMemIndex = -1
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
    this.#kinds = new KindTable(parameters, spec, this.memClocksMhz)
    this.#evaluator = new Evaluator(constants, this.#kinds)
    this.#spread = new SpreadTable(parameters.spread)
    this.#tpcs = Int32Array.from({ length: 101 }, (_, share) => smsOfShare(spec, Math.max(1, share)) / spec.smPerTpc)
  }

  /**
   * A model from the parsed JSON of a parameter file.
   *
   * @throws ParameterVersionError, InvalidInputError, UnknownNameError for a board that is not known and not given
   */
  static load(json: unknown, spec?: GpuSpec): PerfModel {
    const parameters = parsePerfModelParameters(json)
    return spec === undefined ? new PerfModel(parameters) : new PerfModel(parameters, spec)
  }

  /** What the model was made from; write it as JSON to load it again. */
  get parameters(): PerfModelParameters {
    return this.#parameters
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
    const region = this.#region
    const late = Math.exp(Z99 * this.#spread.tenantThroughput(region))
    const tenants = new Array<TenantPrediction>(count)
    for (let i = 0; i < count; i++) {
      const mean = latencyMs[i]!
      tenants[i] = { throughput: throughput[i]!, latencyMs: mean, p99LatencyMs: mean * late }
    }
    return {
      throughput: evaluator.totalThroughput,
      powerW: evaluator.powerW,
      smUtilPercent: evaluator.smUtilPercent,
      memUtilPercent: evaluator.memUtilPercent,
      throughputSd: evaluator.totalThroughput * this.#spread.throughput(region),
      powerSdW: evaluator.powerW * this.#spread.power(region),
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
    out.throughputSd = evaluator.totalThroughput * this.#spread.throughput(this.#region)
    out.powerSdW = evaluator.powerW * this.#spread.power(this.#region)
    for (let i = 0; i < configuration.tenants.length; i++) {
      out.tenantThroughput[i] = evaluator.throughput[i]!
      out.tenantLatencyMs[i] = evaluator.latencyMs[i]!
    }
  }

  /**
   * Many predictions over typed arrays: no names to look up, nothing allocated but the result, and nothing at all where
   * `out` is given.
   *
   * @throws InvalidInputError naming the array and the index; what was predicted before it stays in `out`
   */
  predictBatch(input: BatchInput, out: BatchOutput = batchOutput(input)): BatchOutput {
    assertBatchArrays(input, out)
    const evaluator = this.#evaluator
    const { network, mpsPercent, batchSize, firstTenant, smClockMhz, memClockMhz } = input
    for (let c = 0; c < smClockMhz.length; c++) {
      const from = firstTenant[c]!
      const count = firstTenant[c + 1]! - from
      const memIndex = this.#memIndex(memClockMhz[c]!)
      this.#assertSmClock(smClockMhz[c]!, memIndex)
      this.#beginEntering(count)
      for (let i = 0; i < count; i++) {
        const index = network[from + i]!
        if (!(index >= 0 && index < this.networks.length)) {
          throw new InvalidInputError(
            `network[${from + i}]`,
            index,
            `an index of networks, 0 to ${this.networks.length - 1}`,
          )
        }
        this.#put(i, index, mpsPercent[from + i]!, batchSize[from + i]!)
      }
      this.#endEntering(count, memIndex)
      evaluator.at(smClockMhz[c]!)
      out.throughput[c] = evaluator.totalThroughput
      out.powerW[c] = evaluator.powerW
      out.smUtilPercent[c] = evaluator.smUtilPercent
      out.memUtilPercent[c] = evaluator.memUtilPercent
      out.throughputSd[c] = evaluator.totalThroughput * this.#spread.throughput(this.#region)
      out.powerSdW[c] = evaluator.powerW * this.#spread.power(this.#region)
      for (let i = 0; i < count; i++) {
        out.tenantThroughput[from + i] = evaluator.throughput[i]!
        out.tenantLatencyMs[from + i] = evaluator.latencyMs[i]!
      }
    }
    return out
  }

  /** Whether a configuration lies within what the rows of the fit covered, and if not, in which fields it does not. */
  domain(configuration: Configuration): Domain {
    return domainOf(this.#parameters.profile, configuration)
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
    this.#assertSmClock(smClockMhz, memIndex)
    this.#enter(tenants, memIndex)
    this.#evaluator.at(smClockMhz)
    return this.#evaluator
  }

  #assertSmClock(smClockMhz: number, memIndex: number): void {
    const lowest = this.#lowestClocksMhz[memIndex]!
    const highest = this.#highestClocksMhz[memIndex]!
    if (!(smClockMhz >= lowest && smClockMhz <= highest)) {
      throw new InvalidInputError('smClockMhz', smClockMhz, `a clock from ${lowest} to ${highest} MHz`)
    }
  }

  #enter(tenants: readonly Tenant[], memIndex: number): void {
    const count = tenants.length
    this.#beginEntering(count)
    for (let i = 0; i < count; i++) {
      const { model, mpsPercent, batchSize } = tenants[i]!
      const network = this.#networkIndex.get(model)
      // Shares and batches come first in complaints, as everywhere in the family.
      this.#put(i, network ?? -1, mpsPercent, batchSize)
      if (network === undefined) throw new UnknownNameError('network', model, this.networks)
    }
    this.#endEntering(count, memIndex)
  }

  #shareSum = 0
  #changed = false
  #like = true
  #firstNetwork = 0
  #severalNetworks = false

  #beginEntering(count: number): void {
    if (!(count >= 1 && count <= MAX_MPS_CLIENTS)) {
      throw new InvalidInputError('tenants', count, `from 1 to ${MAX_MPS_CLIENTS} tenants`)
    }
    this.#shareSum = 0
    this.#like = true
    this.#severalNetworks = false
    this.#changed = false
  }

  /** Tenant `i`; a network below 0 is checked for everything else, and then left to the caller to complain of. */
  #put(i: number, network: number, mpsPercent: number, batchSize: number): void {
    if (!(mpsPercent > 0 && mpsPercent <= 100)) {
      throw new InvalidInputError(`tenants[${i}].mpsPercent`, mpsPercent, 'a share above 0 and at most 100')
    }
    assertBatch(batchSize, i)
    if (network < 0) return
    const whole = mpsPercent | 0
    const tpcs = whole === mpsPercent ? this.#tpcs[whole]! : smsOfShare(this.spec, mpsPercent) / this.spec.smPerTpc
    let offset = this.#kinds.find(network, tpcs, batchSize)
    if (offset < 0) {
      offset = this.#kinds.add(network, tpcs, batchSize)
      this.#evaluator.writeDemands(offset)
      // That moved the evaluator to another memory clock.
      this.#heldCount = 0
    }
    const { offsets } = this.#evaluator
    if (offsets[i] !== offset) {
      offsets[i] = offset
      this.#changed = true
      this.#heldCount = 0
    }
    if (i === 0) this.#firstNetwork = network
    if (offset !== offsets[0]!) this.#like = false
    if (network !== this.#firstNetwork) this.#severalNetworks = true
    this.#shareSum += mpsPercent
  }

  #endEntering(count: number, memIndex: number): void {
    if (this.#shareSum > 100 + 1e-9) {
      const expected = 'at most 100; the model knows no time slicing'
      throw new InvalidInputError('sum of tenants[].mpsPercent', this.#shareSum, expected)
    }
    // The same tenants at another clock need no second look at what they cost each other.
    if (!this.#changed && count === this.#heldCount && memIndex === this.#heldMemIndex) return
    this.#evaluator.begin(count, memIndex)
    this.#region = regionOf(mixIndex(this.#like, this.#severalNetworks), count)
    this.#heldCount = count
    this.#heldMemIndex = memIndex
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

import { normalQuantileOfTail } from '@pctodl/numerics'
import {
  type Configuration,
  findGpuSpec,
  type GpuSpec,
  InvalidInputError,
  MAX_MPS_CLIENTS,
  PctodlError,
  readPlatform,
  smClocksAt,
  smsOfShare,
  type Tenant,
  UnknownNameError,
} from '@pctodl/platform'
import { type BoardConstants, boardConstants, relativeVoltage } from './board-constants.js'
import { type Domain, outsideOf } from './domain.js'
import { KindTable } from './kind-table.js'
import { LazyPrediction, LazyTenantPrediction } from './lazy-prediction.js'
import { Mix, prepare } from './mix.js'
import { networkOf } from './network-of.js'
import { type PerfModelParameters, parsePerfModelParameters } from './parameters.js'
import { assertBatchArrays, type BatchInput, type BatchOutput, batchOutput } from './prediction-batch.js'
import type { Prediction, PredictionQuantiles, Predictor, TenantPrediction } from './predictor.js'
import { Solution, solve } from './solve.js'
import { assertBatch, assertShare, assertShares } from './tenant-checks.js'
import { ErrorModel } from './uncertainty/error-model.js'
import { ErrorTerms, type PredictedTerms, type Quantity } from './uncertainty/error-terms.js'

/** Largest distance at which a configuration counts as inside the measured domain. */
const MAX_DISTANCE = 2

const EXPECTED_TENANT = '{ model, mpsPercent, batchSize }'

/**
 * Predicts any mix of the fitted networks on one board. A prediction does not depend on the order of the tenants. Every
 * tenant's throughput rises with the SM clock, the memory clock and its own share. Power rises with the SM clock. These
 * relations hold to a relative 1e-9.
 */
export class PerfModel implements Predictor {
  readonly spec: GpuSpec
  readonly memClocksMhz: readonly number[]
  /** Names of the fitted networks. */
  readonly networks: readonly string[]
  /** The model's parameters; write them as JSON to load the model again. */
  readonly parameters: PerfModelParameters
  /** Network index by name; alternative names are added when first used. */
  readonly #networkIndex: Map<string, number>
  readonly #kinds: KindTable
  readonly #board: BoardConstants
  /** Numbers of the kinds of the last prediction's tenants, and the offsets of their records. */
  readonly #tenants = new Int32Array(MAX_MPS_CLIENTS)
  readonly #offsets = new Int32Array(MAX_MPS_CLIENTS)
  /** Mix of these tenants, used at all SM clocks. `tenants` is 0 if the mix must be prepared again. */
  readonly #mix = new Mix()
  readonly #solution = new Solution()
  /** SM clock of the current solution, MHz; 0 if there is none. */
  #solvedMhz = 0
  readonly #errors: Readonly<Record<Quantity, SolutionError>>
  #scored = { probability: 0.5, score: 0 }
  /** Number of TPCs for each whole percent of share, precomputed to avoid the division. */
  readonly #tpcs: Int32Array
  /** SM clocks by memory clock, ascending. */
  readonly #clocksMhz: readonly (readonly number[])[]
  /** For each of these clocks, clock x voltage squared. Dynamic power is nearly linear in this product. */
  readonly #drives: readonly Float64Array[]
  /** For each memory clock, the index of the last solved SM clock, from which the next search starts. */
  readonly #lastAnswers: number[]

  /**
   * @param given what `fitPerfModel` returns, or a parameter file contains; it is checked and copied
   * @param ofBoard the board, if `@pctodl/platform` does not know it
   * @throws ParameterVersionError
   * @throws InvalidInputError for an invalid field, parameters of another board, or a memory clock that the board lacks
   * @throws PlatformFileError for an invalid board
   * @throws UnknownNameError for an unknown board without `ofBoard`
   */
  constructor(given: PerfModelParameters, ofBoard?: GpuSpec) {
    const parameters = parsePerfModelParameters(given)
    const spec = ofBoard === undefined ? findGpuSpec(parameters.board) : readPlatform(ofBoard, 'spec')
    if (parameters.board !== spec.key) {
      throw new InvalidInputError('parameters.board', parameters.board, `'${spec.key}', the board of the model`)
    }
    const board = boardConstants(spec, parameters.boardParameters)
    const clocks = board.memClocksMhz.map((memClockMhz) => {
      const states = smClocksAt(spec, memClockMhz)
      if (states === undefined) {
        const known = spec.clockStates.map((state) => state.memClockMhz).join(', ')
        throw new InvalidInputError('parameters.idlePowerW', memClockMhz, `memory clocks of ${spec.key}: ${known}`)
      }
      return states
    })
    this.spec = spec
    this.memClocksMhz = board.memClocksMhz
    this.#board = board
    this.networks = parameters.networks.map((network) => network.name)
    this.parameters = parameters
    this.#networkIndex = new Map(this.networks.map((name, index) => [name, index]))
    this.#clocksMhz = clocks
    this.#lastAnswers = clocks.map((states) => states.length - 1)
    this.#drives = clocks.map((states) =>
      Float64Array.from(states, (mhz) => {
        const clock = mhz / spec.boostClockMhz
        return clock * relativeVoltage(parameters.boardParameters, clock) ** 2
      }),
    )
    const errorOf = (quantity: Quantity): SolutionError => {
      const model = new ErrorModel(parameters.errors.find((entry) => entry.quantity === quantity)!, this.networks)
      return { model, terms: new ErrorTerms(this.networks.length), written: false, sd: 0 }
    }
    this.#errors = { throughput: errorOf('throughput'), power: errorOf('power') }
    this.#kinds = new KindTable(parameters, spec, board)
    this.#tpcs = Int32Array.from({ length: 101 }, (_, share) => smsOfShare(spec, Math.max(1, share)) / spec.smPerTpc)
  }

  /**
   * Load a model from the parsed JSON of a parameter file, like the constructor.
   */
  static load(json: unknown, spec?: GpuSpec): PerfModel {
    return new PerfModel(json as PerfModelParameters, spec)
  }

  /**
   * Predict one configuration. An SM clock between two table entries is accepted, because measured mean clocks lie
   * there.
   *
   * @throws UnknownNameError for a network that was not fitted
   * @throws InvalidInputError for tenants that no board could run, a batch above 256, a memory clock that was not
   * fitted, or an SM clock outside the board's range
   */
  predict(configuration: Configuration): Prediction {
    const solution = this.#evaluate(configuration)
    const { throughput, latencyMs } = solution
    const speedFactor = this.#factorOf('throughput')
    const deviationOf = this.#deviationOfSolved()
    const count = configuration.tenants.length
    const tenants = new Array<TenantPrediction>(count)
    for (let i = 0; i < count; i++) {
      const isTwin = i > 0 && this.#tenants[i] === this.#tenants[i - 1]
      tenants[i] = isTwin
        ? tenants[i - 1]!
        : new LazyTenantPrediction(throughput[i]! * speedFactor, latencyMs[i]! / speedFactor, deviationOf)
    }
    return new LazyPrediction(
      solution.totalThroughput * speedFactor,
      solution.powerW * this.#factorOf('power'),
      solution.smUtilPercent,
      solution.memUtilPercent,
      this.#distance(),
      tenants,
      deviationOf,
    )
  }

  /**
   * Compute many predictions from typed arrays, without name look-ups. With `out`, nothing is allocated.
   *
   * @throws InvalidInputError that names the array and the index; earlier predictions stay in `out`
   */
  predictBatch(input: BatchInput, out: BatchOutput = batchOutput(input)): BatchOutput {
    assertBatchArrays(input, out)
    const { network, mpsPercent, batchSize, firstTenant, smClockMhz, memClockMhz } = input
    const solution = this.#solution
    for (let c = 0; c < smClockMhz.length; c++) {
      const from = firstTenant[c]!
      const count = firstTenant[c + 1]! - from
      const memIndex = this.#memIndex(memClockMhz[c]!)
      this.#assertSmClock(smClockMhz[c]!, memIndex)
      assertCount(count)
      let shareSum = 0
      for (let i = 0; i < count; i++) {
        const index = network[from + i]!
        if (!(Number.isInteger(index) && this.networks[index] !== undefined)) {
          const expected = `an index of networks, 0 to ${this.networks.length - 1}`
          throw new InvalidInputError(`network[${from + i}]`, index, expected)
        }
        const tpcs = this.#tpcsOf(mpsPercent[from + i]!, i)
        assertBatch(batchSize[from + i]!, i)
        this.#put(i, this.#kinds.numberOf(index, tpcs, batchSize[from + i]!))
        shareSum += mpsPercent[from + i]!
      }
      assertShares(shareSum)
      this.#prepare(count, memIndex)
      this.#solve(smClockMhz[c]!)
      const speedFactor = this.#factorOf('throughput')
      out.throughput[c] = solution.totalThroughput * speedFactor
      out.powerW[c] = solution.powerW * this.#factorOf('power')
      out.smUtilPercent[c] = solution.smUtilPercent
      out.memUtilPercent[c] = solution.memUtilPercent
      if (out.throughputSd) out.throughputSd[c] = out.throughput[c]! * this.#sdOf('throughput')
      if (out.powerSdW) out.powerSdW[c] = out.powerW[c]! * this.#sdOf('power')
      for (let i = 0; i < count; i++) {
        out.tenantThroughput[from + i] = solution.throughput[i]! * speedFactor
        out.tenantLatencyMs[from + i] = solution.latencyMs[i]! / speedFactor
      }
    }
    return out
  }

  /**
   * Quantiles of throughput and power over boards of the kind. After `refit`, they describe the one board whose rows
   * were added. They ascend with the probabilities. Without added rows, half of the boards lie on either side of the
   * median, which may differ from the prediction.
   *
   * @param probabilities from 1e-6 to 1 - 1e-6
   * @throws what `predict` throws, and InvalidInputError for an invalid probability
   */
  quantiles(configuration: Configuration, probabilities: readonly number[]): PredictionQuantiles {
    if (!Array.isArray(probabilities)) throw new InvalidInputError('probabilities', probabilities, 'a list of numbers')
    // The entries include the gaps of a list.
    for (const [i, probability] of probabilities.entries()) {
      if (typeof probability === 'number' && probability >= 1e-6 && probability <= 1 - 1e-6) continue
      throw new InvalidInputError(`probabilities[${i}]`, probability, 'a number from 1e-6 to 1 - 1e-6')
    }
    const { totalThroughput, powerW } = this.#evaluate(configuration)
    const at = (value: number, quantity: Quantity) => {
      const centre = this.#centreOf(quantity)
      const sd = this.#sdOf(quantity)
      return probabilities.map((probability) => value * Math.exp(centre + sd * normalScore(probability)))
    }
    return { throughput: at(totalThroughput, 'throughput'), powerW: at(powerW, 'power') }
  }

  /**
   * Power that a board of the kind exceeds with a given probability, W.
   *
   * @throws what `predict` throws, and InvalidInputError for an invalid probability
   */
  upperPowerW(configuration: Configuration, probability: number): number {
    this.#evaluate(configuration)
    return this.#upperPowerW(probability)
  }

  #upperPowerW(probability: number): number {
    // A search asks for one probability repeatedly, so its score is cached.
    if (probability !== this.#scored.probability) {
      if (!(typeof probability === 'number' && probability > 0 && probability < 1)) {
        throw new InvalidInputError('probability', probability, 'a number above 0 and below 1')
      }
      this.#scored = { probability, score: normalScore(Math.min(1 - 1e-9, Math.max(1e-9, probability))) }
    }
    const deviation = this.#centreOf('power') - this.#sdOf('power') * this.#scored.score
    return this.#solution.powerW * Math.exp(deviation)
  }

  /**
   * Prediction of the equations alone, with its terms of the error model. It serves to fit and update error models.
   */
  errorTerms(configuration: Configuration): Readonly<Record<Quantity, PredictedTerms>> {
    const { totalThroughput, powerW } = this.#evaluate(configuration)
    const of = (quantity: Quantity, predicted: number): PredictedTerms => {
      const { phi, residual } = this.#termsOf(quantity)
      return { predicted, phi: phi.slice(), residual: residual.slice() }
    }
    return { throughput: of('throughput', totalThroughput), power: of('power', powerW) }
  }

  /** Terms of the error model for the current solution. */
  #termsOf(quantity: Quantity): ErrorTerms {
    const error = this.#errors[quantity]
    if (!error.written) {
      error.terms.write(quantity, this.#board, this.#kinds.records, this.#mix, this.#solution, this.#solvedMhz)
      error.written = true
    }
    return error.terms
  }

  /** Expected ln(measured / predicted) of the current solution. */
  #centreOf(quantity: Quantity): number {
    return this.#errors[quantity].model.centre(this.#termsOf(quantity))
  }

  /** Standard deviation of ln(measured / predicted) of the current solution. */
  #sdOf(quantity: Quantity): number {
    const error = this.#errors[quantity]
    if (error.sd > 0) return error.sd
    const fittedSd = this.parameters.profile.unknownSd[quantity]
    const own = quantity === 'power' ? this.#mix.powerSd : this.#mix.speedSd
    error.sd = error.model.sd(this.#termsOf(quantity), own > fittedSd ? own * own - fittedSd * fittedSd : 0)
    return error.sd
  }

  /** Factor on a prediction, learnt from rows of the board; 1 without such rows. */
  #factorOf(quantity: Quantity): number {
    return this.#errors[quantity].model.state.rows > 0 ? Math.exp(this.#centreOf(quantity)) : 1
  }

  /** Returns a function that still gives the deviations of the current solution after other predictions. */
  #deviationOfSolved(): (quantity: Quantity) => number {
    const { tenants: count, memIndex } = this.#mix
    const tenants: number[] = []
    for (let i = 0; i < count; i++) tenants.push(this.#tenants[i]!)
    const smClockMhz = this.#solvedMhz
    return (quantity) => {
      tenants.forEach((kind, i) => void this.#put(i, kind))
      this.#prepare(count, memIndex)
      this.#solve(smClockMhz)
      return this.#sdOf(quantity)
    }
  }

  #powerW(): number {
    return this.#solution.powerW * this.#factorOf('power')
  }

  /** GPU memory in use apart from the tenants' processes, bytes. */
  get reservedMemoryBytes(): number {
    return Math.ceil(this.parameters.boardParameters.memoryReservedMib * 1024 ** 2)
  }

  /**
   * Check whether a configuration lies within the fitted ranges and the limits of the board, and list the fields that
   * do not. The board's limits are its memory, without which tenants never start, and its highest power limit, above
   * which it lowers its clock. Configurations that `predict` rejects count as outside; they are not an error here.
   *
   * @throws InvalidInputError for an input that is not a configuration
   */
  domain(configuration: Configuration): Domain {
    assertConfiguration(configuration)
    for (const field of ['smClockMhz', 'memClockMhz'] as const) {
      if (typeof configuration[field] !== 'number') throw new InvalidInputError(field, configuration[field], 'a number')
    }
    const tenants = Array.from(configuration.tenants, (tenant, i) => {
      const { model, mpsPercent, batchSize } = Object(tenant) as Tenant
      if (!(typeof model === 'string' && typeof mpsPercent === 'number' && typeof batchSize === 'number')) {
        throw wrongTenant(tenant, i)
      }
      const index = this.#indexOf(tenant.model)
      return index === undefined ? tenant : { ...tenant, model: this.networks[index]! }
    })
    if (tenants.length === 0) assertCount(0)
    const outside = outsideOf(this.parameters.profile, { ...configuration, tenants })
    const atMost = (field: string, value: number, most: number, what: string): void => {
      if (value > most) outside.push({ field, value, covered: `${what} ${most}`, limit: 'board' })
    }
    const shareSum = tenants.reduce((sum, tenant) => sum + tenant.mpsPercent, 0)
    atMost('sum of tenants[].mpsPercent', shareSum, 100 + 1e-9, 'at most')
    const needed = tenants.reduce((sum, tenant) => sum + this.#processBytes(tenant), this.reservedMemoryBytes)
    atMost('memoryBytes', needed, this.spec.memoryBytes, 'the board has')
    const powerW = this.#powerIfPredicted(configuration)
    if (powerW === undefined) return { inside: false, outside, distance: Number.POSITIVE_INFINITY }
    atMost('powerW', powerW, this.spec.powerLimitW.max, 'its highest limit is')
    const distance = this.#distance()
    if (distance > MAX_DISTANCE) outside.push({ field: 'distance', value: distance, covered: `up to ${MAX_DISTANCE}` })
    return { inside: outside.length === 0, outside, distance }
  }

  /** Uncertainty of the prediction for the current tenants, relative to that for the rows of the fit. */
  #distance(): number {
    const { throughput, power } = this.parameters.profile.unknownSd
    const { speedSd, powerSd } = this.#mix
    return Math.max(speedSd / throughput, powerSd / power)
  }

  #powerIfPredicted(configuration: Configuration): number | undefined {
    try {
      this.#evaluate(configuration)
      return this.#powerW()
    } catch (error) {
      // The reason is already among the fields found outside.
      if (error instanceof PctodlError) return undefined
      throw error
    }
  }

  /**
   * Find the highest SM clock of the table whose predicted power is within the cap; undefined if there is none. A
   * secant method narrows the table until the cap lies between two neighbouring clocks. The result is exact, because
   * predicted power rises with the clock. If a `refit` makes the power fall somewhere, the result may depend on earlier
   * calls.
   *
   * @param exceedanceProbability if given, `upperPowerW` for this probability must be within the cap, too
   * @throws what `predict` throws, and InvalidInputError for a cap that is not a number, or an invalid probability
   */
  solveSmClock(
    tenants: readonly Tenant[],
    memClockMhz: number,
    powerCapW: number,
    exceedanceProbability?: number,
  ): number | undefined {
    if (typeof powerCapW !== 'number' || Number.isNaN(powerCapW))
      throw new InvalidInputError('powerCapW', powerCapW, 'a number of watts')
    const memIndex = this.#memIndex(memClockMhz)
    this.#enter(tenants, memIndex)
    const clocks = this.#clocksMhz[memIndex]!
    const drives = this.#drives[memIndex]!
    let low = -1
    let high = clocks.length
    let index = this.#lastAnswers[memIndex]!
    let [driveBefore, powerBeforeW] = [0, this.#board.idlePowerW[memIndex]!]
    while (high - low > 1) {
      this.#solve(clocks[index]!)
      const drive = drives[index]!
      let powerW = this.#powerW()
      if (exceedanceProbability !== undefined) powerW = Math.max(powerW, this.#upperPowerW(exceedanceProbability))
      if (powerW <= powerCapW) low = index
      else high = index
      const wanted = drive + ((powerCapW - powerW) * (driveBefore - drive)) / (powerBeforeW - powerW)
      driveBefore = drive
      powerBeforeW = powerW
      // Find the highest remaining clock whose drive is at most the wanted drive.
      index = low + 1
      for (let last = high - 1; index < last; ) {
        const middle = (index + last + 1) >> 1
        if (drives[middle]! <= wanted) index = middle
        else last = middle - 1
      }
    }
    this.#lastAnswers[memIndex] = Math.max(low, 0)
    return clocks[low]
  }

  /**
   * Memory of a tenant's process, bytes.
   *
   * @throws UnknownNameError for a network that was not fitted
   * @throws InvalidInputError for a batch outside 1..256
   */
  memoryBytes(tenant: Tenant): number {
    if (typeof tenant !== 'object' || tenant === null) throw new InvalidInputError('tenant', tenant, EXPECTED_TENANT)
    if (this.#indexOf(tenant.model) === undefined) throw new UnknownNameError('network', tenant.model, this.networks)
    assertBatch(tenant.batchSize, 0)
    return this.#processBytes(tenant)
  }

  /** Memory of one process, bytes; 0 for a network that was not fitted. */
  #processBytes({ model, batchSize }: Tenant): number {
    const index = this.#indexOf(model)
    if (index === undefined) return 0
    const { memoryBaseMib, memoryPerSampleMib } = this.parameters.networks[index]!
    return Math.ceil((memoryBaseMib + memoryPerSampleMib * batchSize) * 1024 ** 2)
  }

  #evaluate(configuration: Configuration): Solution {
    assertConfiguration(configuration)
    const { tenants, smClockMhz, memClockMhz } = configuration
    const memIndex = this.#memIndex(memClockMhz)
    this.#assertSmClock(smClockMhz, memIndex)
    this.#enter(tenants, memIndex)
    this.#solve(smClockMhz)
    return this.#solution
  }

  #solve(smClockMhz: number): void {
    if (smClockMhz === this.#solvedMhz) return
    solve(this.#board, this.#kinds.records, this.#mix, smClockMhz, this.#solution)
    this.#solvedMhz = smClockMhz
    const { throughput, power } = this.#errors
    throughput.written = power.written = false
    throughput.sd = power.sd = 0
  }

  #assertSmClock(smClockMhz: number, memIndex: number): void {
    const clocks = this.#clocksMhz[memIndex]!
    const [lowest, highest] = [clocks[0]!, clocks[clocks.length - 1]!]
    if (!(typeof smClockMhz === 'number' && smClockMhz >= lowest && smClockMhz <= highest)) {
      throw new InvalidInputError('smClockMhz', smClockMhz, `a clock from ${lowest} to ${highest} MHz`)
    }
  }

  #enter(tenants: readonly Tenant[], memIndex: number): void {
    assertList(tenants)
    const count = tenants.length
    assertCount(count)
    let shareSum = 0
    for (let i = 0; i < count; i++) {
      const tenant = tenants[i]!
      if (typeof tenant !== 'object' || tenant === null) throw wrongTenant(tenant, i)
      const { model, mpsPercent, batchSize } = tenant
      // Report invalid shares and batches before unknown networks, as in the other packages.
      const tpcs = this.#tpcsOf(mpsPercent, i)
      assertBatch(batchSize, i)
      const network = this.#indexOf(model)
      if (network === undefined) throw new UnknownNameError('network', model, this.networks)
      this.#put(i, this.#kinds.numberOf(network, tpcs, batchSize))
      shareSum += mpsPercent
    }
    assertShares(shareSum)
    this.#prepare(count, memIndex)
  }

  /** Enter the kind of tenant `i`. */
  #put(i: number, kind: number): void {
    if (this.#tenants[i] === kind) return
    this.#tenants[i] = kind
    this.#mix.tenants = 0
  }

  #prepare(count: number, memIndex: number): void {
    const mix = this.#mix
    if (mix.tenants === count && mix.memIndex === memIndex) return
    this.#kinds.find(this.#tenants, count, memIndex, this.#offsets)
    prepare(this.#board, this.#kinds.records, this.#offsets, count, memIndex, mix)
    this.#solvedMhz = 0
  }

  /**
   * Index of a network; undefined if it was not fitted. Alternative names are cached, because a planner asks for the
   * same few names repeatedly.
   */
  #indexOf(name: string): number | undefined {
    const known = this.#networkIndex.get(name)
    if (known !== undefined) return known
    try {
      const index = this.networks.indexOf(networkOf(this.networks, name))
      this.#networkIndex.set(name, index)
      return index
    } catch (error) {
      if (error instanceof UnknownNameError) return undefined
      throw error
    }
  }

  #tpcsOf(mpsPercent: number, i: number): number {
    assertShare(mpsPercent, i)
    const whole = mpsPercent | 0
    if (whole === mpsPercent) return this.#tpcs[whole]!
    return smsOfShare(this.spec, mpsPercent) / this.spec.smPerTpc
  }

  #memIndex(memClockMhz: number): number {
    const index = this.memClocksMhz.indexOf(memClockMhz)
    if (index < 0) {
      throw new InvalidInputError('memClockMhz', memClockMhz, `a fitted memory clock: ${this.memClocksMhz.join(', ')}`)
    }
    return index
  }
}

/** Error model of one quantity, and what was computed for the current solution. */
interface SolutionError {
  readonly model: ErrorModel
  readonly terms: ErrorTerms
  /** Whether the terms are those of the current solution. */
  written: boolean
  /** Standard deviation of the current solution; 0 if it was not computed. */
  sd: number
}

function normalScore(probability: number): number {
  return probability < 0.5 ? -normalQuantileOfTail(probability) : normalQuantileOfTail(1 - probability)
}

/** @throws InvalidInputError for an object that lacks the parameters of a model */
export function assertModel(model: PerfModel): void {
  if (typeof model?.parameters === 'object' && Array.isArray(model.networks)) return
  throw new InvalidInputError('model', model, 'a PerfModel, such as what loadPerfModel returns')
}

/** @throws InvalidInputError for an input that is not an object or has no list of tenants */
function assertConfiguration(configuration: Configuration): void {
  if (typeof configuration !== 'object' || configuration === null) {
    throw new InvalidInputError('configuration', configuration, 'an object with tenants, smClockMhz and memClockMhz')
  }
  assertList(configuration.tenants)
}

function assertCount(count: number): void {
  if (!(count >= 1 && count <= MAX_MPS_CLIENTS)) {
    throw new InvalidInputError('tenants', count, `from 1 to ${MAX_MPS_CLIENTS} tenants`)
  }
}

function assertList(tenants: readonly Tenant[]): void {
  if (!Array.isArray(tenants)) throw new InvalidInputError('tenants', tenants, 'a list of tenants')
}

function wrongTenant(tenant: unknown, i: number): InvalidInputError {
  return new InvalidInputError(`tenants[${i}]`, tenant, EXPECTED_TENANT)
}

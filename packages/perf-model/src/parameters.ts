import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { CORRECTION_NODES, HOST_NODES } from './correction-grid.js'
import { type FieldCheck, listOf, numberThat, oneOfThe, record, someText } from './field-checks.js'
import { MIX_TERMS, NETWORK_TERMS, RESIDUAL_TERMS } from './uncertainty/term-counts.js'

/** Version of the parameter file's layout and of the equations that its numbers belong to. */
export const PARAMETER_SCHEMA_VERSION = 4

const positive = numberThat('a positive number', (value) => value > 0)
const nonNegative = numberThat('a number of at least 0', (value) => value >= 0)
const count = numberThat('an integer of at least 0', (value) => Number.isInteger(value) && value >= 0)
const part = numberThat('a number above 0, at most 1', (value) => value > 0 && value <= 1)
const atLeastOne = (element: FieldCheck) => listOf(element, 'a list of at least one', (length) => length >= 1)

export interface BoardParameters {
  /** DRAM traffic that one SM can draw, bytes per SM clock cycle. */
  bytesPerCyclePerSm: number
  /** DRAM demand at which waiting would have no end, in parts of the peak bandwidth. */
  bandwidthCeiling: number
  /** Traffic per batch over all tenants of which caches still keep half away from DRAM, MB. */
  cacheReachMb: number
  /** Tenants that can launch kernels side by side at full speed. */
  launchClients: number
  /** Tenants whose samples the host can prepare side by side at full speed. */
  hostClients: number
  /** Growth of the host time per sample once a batch is large, in parts of it. */
  largeBatchHostFactor: number
  /** Batch size at which half of that growth has set in. */
  largeBatchKnee: number
  /** Power at zero activity for each memory clock of the fit, memory clocks descending. */
  idlePowerW: { memClockMhz: number; powerW: number }[]
  /** Power of the clock tree at the boost clock, W. */
  clockTreePowerW: number
  /** Power of one busy SM at the boost clock, W. */
  smPowerW: number
  /** Fall of the voltage with the clock at the boost clock: d(V / V(boost)) / d(f / f(boost)). */
  voltageSlope: number
  /** How the fall flattens towards low clocks: half the second derivative. */
  voltageBend: number
  /** The voltage that no clock goes below, in parts of V(boost). */
  voltageFloor: number
  /** GPU memory in use beside the tenants' processes, MiB. */
  memoryReservedMib: number
}

const boardParameters = record<BoardParameters>({
  bytesPerCyclePerSm: positive,
  bandwidthCeiling: part,
  cacheReachMb: positive,
  launchClients: positive,
  hostClients: positive,
  largeBatchHostFactor: nonNegative,
  largeBatchKnee: positive,
  idlePowerW: atLeastOne(record<BoardParameters['idlePowerW'][number]>({ memClockMhz: positive, powerW: positive })),
  clockTreePowerW: nonNegative,
  smPowerW: nonNegative,
  voltageSlope: nonNegative,
  voltageBend: positive,
  voltageFloor: part,
  memoryReservedMib: nonNegative,
})

const noneOr = (element: FieldCheck, count: number) =>
  listOf(element, `0 or ${count} numbers`, (length) => length === 0 || length === count)

const logarithm = numberThat('a number from -2 to 2', (value) => Math.abs(value) <= 2)

/** A grid of logarithms as `correctionGrid` lays it out; empty: no correction. */
const grid = noneOr(logarithm, CORRECTION_NODES)
const sdGrid = noneOr(nonNegative, CORRECTION_NODES)

export interface NetworkCorrection {
  memClockMhz: number
  /** Logarithm of the factor on the speed of the tenant's work on the device; does not fall along the share. */
  speed: number[]
  /** Logarithm of the factor on the tenant's part of the dynamic power. */
  dynamicPower: number[]
  /** What the fit does not know of the logarithm of throughput: the standard deviation of parameters and corrections. */
  speedSd: number[]
  /** The same of the logarithm of power. */
  powerSd: number[]
}

const networkCorrection = record<NetworkCorrection>({
  memClockMhz: positive,
  speed: grid,
  dynamicPower: grid,
  speedSd: sdGrid,
  powerSd: sdGrid,
})

export interface NetworkParameters {
  name: string
  /** Arithmetic, SM mega-cycles per sample. */
  computePerSample: number
  /** Arithmetic that a batch of any size costs, SM mega-cycles. */
  computePerBatch: number
  /** Dependent steps that more SMs do not shorten, mega-cycles per batch. */
  serialPerBatch: number
  /** The same per sample. */
  serialPerSample: number
  /** Memory traffic of operators that also compute, MB per sample. */
  mixedMbPerSample: number
  /** The same per batch (weights), MB. */
  mixedMbPerBatch: number
  /** Memory traffic of operators that only move elements, MB per sample. */
  streamMbPerSample: number
  /** Device time per batch that no clock changes, ms. */
  gapMs: number
  /** Host time to launch a batch, ms. */
  launchMs: number
  /** Host time per sample, ms. */
  hostPerSampleMs: number
  /** Energy of a sample that scales with the square of the voltage, mJ at the boost clock. */
  coreEnergyMj: number
  /** The same for a batch of any size, mJ. */
  batchEnergyMj: number
  /** Energy of a sample's DRAM traffic where caches keep none of it away, mJ. */
  memoryEnergyMj: number
  /** Traffic that the board's utilisation counter sees where caches keep none of it away, MB per sample. */
  countedMbPerSample: number
  /** GPU memory of one process, MiB. */
  memoryBaseMib: number
  /** GPU memory per sample of the batch, MiB. */
  memoryPerSampleMib: number
  /** Logarithm of the factor on the speed of the host's work, by batch and number of tenants; empty: no correction. */
  hostSpeed: number[]
  /** What the equations leave over, by memory clock; without an entry for a clock there is no correction at it. */
  corrections: NetworkCorrection[]
}

const networkParameters = record<NetworkParameters>({
  name: someText,
  computePerSample: positive,
  computePerBatch: nonNegative,
  serialPerBatch: nonNegative,
  serialPerSample: nonNegative,
  mixedMbPerSample: nonNegative,
  mixedMbPerBatch: nonNegative,
  streamMbPerSample: positive,
  gapMs: nonNegative,
  launchMs: positive,
  hostPerSampleMs: nonNegative,
  coreEnergyMj: nonNegative,
  batchEnergyMj: nonNegative,
  memoryEnergyMj: nonNegative,
  countedMbPerSample: nonNegative,
  memoryBaseMib: nonNegative,
  memoryPerSampleMib: nonNegative,
  hostSpeed: noneOr(logarithm, HOST_NODES),
  corrections: listOf(networkCorrection, 'a list', () => true),
})

/** Least and largest value. */
export type FittedRange = [number, number]

/** How alike tenants that share a board are. */
export type Mix = 'like tenants' | 'unlike tenants' | 'several networks'

const range = listOf(positive, 'the least and the largest value', (length) => length === 2)
const mix = oneOfThe('like tenants', 'unlike tenants', 'several networks')

/** What the rows of a fit covered. Predictions outside are extrapolations. */
export interface FittedProfile {
  networks: {
    name: string
    mpsPercent: FittedRange
    batchSize: FittedRange
    tenants: FittedRange
  }[]
  smClockMhz: {
    memClockMhz: number
    range: FittedRange
  }[]
  /** Which kinds of tenants shared the board. */
  mixes: Mix[]
  /**
   * What the fit does not know of its own rows: the 99th percentile of the standard deviation that its parameters and corrections
   * leave to the logarithms of throughput and power.
   */
  unknownSd: { throughput: number; power: number }
}

const fittedProfile = record<FittedProfile>({
  networks: atLeastOne(
    record<FittedProfile['networks'][number]>({ name: someText, mpsPercent: range, batchSize: range, tenants: range }),
  ),
  smClockMhz: atLeastOne(record<FittedProfile['smClockMhz'][number]>({ memClockMhz: positive, range })),
  mixes: atLeastOne(mix),
  unknownSd: record<FittedProfile['unknownSd']>({ throughput: positive, power: positive }),
})

/**
 * What is known of ln(measured / predicted) = phi . beta + residual, as `uncertainty/error-model.ts` has it: beta's mean and, once rows of the board
 * have moved it, the lower triangle of its covariance, and the scale of both variances.
 */
export interface ErrorState {
  quantity: 'throughput' | 'power'
  /** Of the board itself, since the fit. */
  rows: number
  scale: number
  /** By how much boards of one kind differ, as variances of the terms of the mix and of each network's, and what these leave over. */
  mix: number[]
  network: number[]
  residual: number[]
  /** In the order of their terms. */
  networks: string[]
  mean: number[]
  covariance: number[]
}

const real = numberThat('a number', () => true)
/** Of several entries with one name only the first would count. */
const eachOnce =
  (name: string, check: FieldCheck): FieldCheck =>
  (value, field) => {
    check(value, field)
    const seen = new Set<unknown>()
    ;(value as readonly Record<string, unknown>[]).forEach((entry, i) => {
      if (seen.has(entry[name])) throw new InvalidInputError(`${field}.${i}.${name}`, entry[name], 'each once')
      seen.add(entry[name])
    })
  }
const errorState = record<ErrorState>({
  quantity: oneOfThe('throughput', 'power'),
  rows: count,
  scale: positive,
  mix: listOf(positive, `${MIX_TERMS} numbers`, (length) => length === MIX_TERMS),
  network: listOf(positive, `${NETWORK_TERMS} numbers`, (length) => length === NETWORK_TERMS),
  residual: listOf(positive, `${RESIDUAL_TERMS} numbers`, (length) => length === RESIDUAL_TERMS),
  networks: listOf(someText, 'a list', () => true),
  mean: listOf(real, 'numbers', () => true),
  covariance: listOf(real, 'numbers', () => true),
})

/** Median and 95th percentile of the error of one quantity over one kind of rows. */
export interface ErrorSummary {
  quantity: 'throughput' | 'tenant throughput' | 'power' | 'SM utilisation' | 'memory utilisation'
  /** Relative errors are in percent of the measured value, utilisations in points. */
  unit: '%' | 'points'
  rows: 'all' | Mix
  count: number
  median: number
  p95: number
}

const errorSummary = record<ErrorSummary>({
  quantity: oneOfThe('throughput', 'tenant throughput', 'power', 'SM utilisation', 'memory utilisation'),
  unit: oneOfThe('%', 'points'),
  rows: oneOfThe('all', 'like tenants', 'unlike tenants', 'several networks'),
  count,
  median: nonNegative,
  p95: nonNegative,
})

/** Everything that makes a `PerfModel`, as stored in a parameter file. */
export interface PerfModelParameters {
  schemaVersion: typeof PARAMETER_SCHEMA_VERSION
  /** Key of the board, e.g. `3080Ti`. */
  board: string
  provenance: {
    /** What was measured, in words. */
    source: string
    rows: number
    /** Rows left out because a tenant failed in them. */
    failedRows: number
    folds: number
    seed: number
    /** Errors on held-out configurations; empty where no cross-validation was made. */
    heldOutErrors: ErrorSummary[]
    /** How often `refit` has changed the parameters since the fit. */
    refits: number
  }
  boardParameters: BoardParameters
  networks: NetworkParameters[]
  profile: FittedProfile
  errors: ErrorState[]
}

const perfModelParameters = record<PerfModelParameters>({
  schemaVersion: oneOfThe(PARAMETER_SCHEMA_VERSION),
  board: someText,
  provenance: record<PerfModelParameters['provenance']>({
    source: someText,
    rows: numberThat('an integer of at least 1', (value) => Number.isInteger(value) && value >= 1),
    failedRows: count,
    folds: count,
    seed: numberThat('an integer', Number.isInteger),
    heldOutErrors: listOf(errorSummary, 'a list', () => true),
    refits: count,
  }),
  boardParameters,
  networks: eachOnce('name', atLeastOne(networkParameters)),
  profile: fittedProfile,
  errors: eachOnce(
    'quantity',
    listOf(errorState, 'two states', (length) => length === 2),
  ),
})

/** The parameter file belongs to another version of the model. */
export class ParameterVersionError extends PctodlError {
  readonly found: unknown

  constructor(found: unknown) {
    super(
      'PARAMETER_VERSION',
      `schemaVersion: got ${JSON.stringify(found)}, expected ${PARAMETER_SCHEMA_VERSION}; fit the parameters anew with ` +
        'this release, or use the release that wrote them',
    )
    this.found = found
  }
}

/**
 * Check parsed JSON and return a typed copy.
 *
 * @throws ParameterVersionError for another schema version
 * @throws InvalidInputError naming the first field that is wrong
 */
export function parsePerfModelParameters(json: unknown): PerfModelParameters {
  if (typeof json === 'object' && json !== null && 'schemaVersion' in json) {
    if (json.schemaVersion !== PARAMETER_SCHEMA_VERSION) throw new ParameterVersionError(json.schemaVersion)
  }
  perfModelParameters(json, 'parameters')
  return structuredClone(json as PerfModelParameters)
}

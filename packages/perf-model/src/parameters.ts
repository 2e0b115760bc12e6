import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { CORRECTION_NODES, HOST_NODES } from './correction-grid.js'
import { each, type FieldCheck, listOf, numberThat, oneOfThe, record, someText } from './field-checks.js'

/** Version of the parameter file's layout and of the model equations. */
export const PARAMETER_SCHEMA_VERSION = 6

export const positive: FieldCheck = numberThat('a positive number', (value) => value > 0)
export const nonNegative: FieldCheck = numberThat('a number of at least 0', (value) => value >= 0)
const count = numberThat('an integer of at least 0', (value) => Number.isInteger(value) && value >= 0)
const part = numberThat('a number above 0, at most 1', (value) => value > 0 && value <= 1)
const atMinOne = (element: FieldCheck) => listOf(element, 'a list of at least one', (length) => length >= 1)

export interface BoardParameters {
  /** DRAM traffic that one SM can draw, bytes per SM clock cycle. */
  bytesPerCyclePerSm: number
  /** DRAM demand at which the waiting time diverges, as a fraction of the peak bandwidth. */
  bandwidthCeiling: number
  /** Memory traffic per batch, summed over all tenants, at which half of the traffic misses the caches, MB. */
  cacheReachMb: number
  /** Number of tenants that can launch kernels concurrently at full speed. */
  launchClients: number
  /** Number of tenants whose samples the host can prepare concurrently at full speed. */
  hostClients: number
  /** Relative increase of the host time per sample that large batches approach. */
  largeBatchHostFactor: number
  /** Batch size at which half of `largeBatchHostFactor` is reached. */
  largeBatchKnee: number
  /** Power at zero activity for each memory clock of the fit, in descending order of the clock. */
  idlePowerW: { memClockMhz: number; powerW: number }[]
  /** Power of the clock tree at the boost clock, W. */
  clockTreePowerW: number
  /** Power of one busy SM at the boost clock, W. */
  smPowerW: number
  /** Slope of the relative voltage at the boost clock: d(V / V(boost)) / d(f / f(boost)). */
  voltageSlope: number
  /** Curvature of the relative voltage: half its second derivative. It flattens the voltage towards low clocks. */
  voltageBend: number
  /** Lowest voltage as a fraction of V(boost). */
  voltageFloor: number
  /** GPU memory in use apart from the tenants' processes, MiB. */
  memoryReservedMib: number
}

export const boardParameters: FieldCheck = record<BoardParameters>({
  ...each(
    positive,
    'bytesPerCyclePerSm',
    'cacheReachMb',
    'launchClients',
    'hostClients',
    'largeBatchKnee',
    'voltageBend',
  ),
  ...each(part, 'bandwidthCeiling', 'voltageFloor'),
  ...each(nonNegative, 'largeBatchHostFactor', 'clockTreePowerW', 'smPowerW', 'voltageSlope', 'memoryReservedMib'),
  idlePowerW: atMinOne(record<BoardParameters['idlePowerW'][number]>(each(positive, 'memClockMhz', 'powerW'))),
})

const noneOr = (element: FieldCheck, count: number) =>
  listOf(element, `0 or ${count} numbers`, (length) => length === 0 || length === count)

const logarithm = numberThat('a number from -2 to 2', (value) => Math.abs(value) <= 2)

/** A grid of logarithms in the layout of `correctionGrid`; empty for no correction. */
const grid = noneOr(logarithm, CORRECTION_NODES)
const sdGrid = noneOr(nonNegative, CORRECTION_NODES)

export interface NetworkCorrection {
  memClockMhz: number
  /**
   * Logarithms of the correction factor on the speed of the tenant's kernels on the device, one per grid node. They do
   * not decrease as the MPS share grows.
   */
  speed: number[]
  /** Logarithm of the factor on the tenant's dynamic power. */
  dynamicPower: number[]
  /** Standard deviation of ln(throughput) due to uncertain corrections. */
  speedSd: number[]
  /** Standard deviation of ln(power) due to uncertain corrections. */
  powerSd: number[]
}

const networkCorrection = record<NetworkCorrection>({
  memClockMhz: positive,
  ...each(grid, 'speed', 'dynamicPower'),
  ...each(sdGrid, 'speedSd', 'powerSd'),
})

export interface NetworkParameters {
  name: string
  /** Arithmetic, SM mega-cycles per sample. */
  computePerSample: number
  /** Arithmetic per batch, independent of its size, SM mega-cycles. */
  computePerBatch: number
  /** Serial work that more SMs do not speed up, mega-cycles per batch. */
  serialPerBatch: number
  /** Serial work per sample, mega-cycles. */
  serialPerSample: number
  /** Memory traffic of operators that also compute (overlapped with arithmetic), MB per sample. */
  mixedMbPerSample: number
  /** Overlapped memory traffic per batch (weights), MB. */
  mixedMbPerBatch: number
  /** Memory traffic of operators that only move elements, MB per sample. */
  streamMbPerSample: number
  /** Device time per batch that does not depend on the clocks, ms. */
  gapMs: number
  /** Host time to launch a batch, ms. */
  launchMs: number
  /** Host time per sample, ms. */
  hostPerSampleMs: number
  /** Part of a sample's energy that scales with the square of the voltage, mJ at the boost clock. */
  coreEnergyMj: number
  /**
   * Energy per batch, independent of its size, that also scales with the square of the voltage, mJ at the boost clock.
   */
  batchEnergyMj: number
  /** DRAM energy of a sample if all its traffic misses the caches, mJ. */
  memoryEnergyMj: number
  /** Traffic that the counter of memory utilisation measures if all of it misses the caches, MB per sample. */
  countedMbPerSample: number
  /** Base GPU memory of one process, MiB. */
  memoryBaseMib: number
  /** GPU memory per sample of the batch, MiB. */
  memoryPerSampleMib: number
  /** Logarithm of the factor on the host's speed, by batch size and number of tenants; empty for no correction. */
  hostSpeed: number[]
  /** Corrections for the residual of the equations; a memory clock without an entry has none. */
  corrections: NetworkCorrection[]
}

const networkParameters = record<NetworkParameters>({
  name: someText,
  ...each(positive, 'computePerSample', 'streamMbPerSample', 'launchMs'),
  ...each(nonNegative, 'computePerBatch', 'serialPerBatch', 'serialPerSample', 'mixedMbPerSample', 'mixedMbPerBatch'),
  ...each(nonNegative, 'gapMs', 'hostPerSampleMs', 'coreEnergyMj', 'batchEnergyMj', 'memoryEnergyMj'),
  ...each(nonNegative, 'countedMbPerSample', 'memoryBaseMib', 'memoryPerSampleMib'),
  hostSpeed: noneOr(logarithm, HOST_NODES),
  corrections: listOf(networkCorrection),
})

/** Smallest and largest value. */
export type FittedRange = [number, number]

/** How similar the tenants that share a board are. */
export const mixes = ['like tenants', 'unlike tenants', 'several networks'] as const
export type Mix = (typeof mixes)[number]

const range = listOf(positive, 'the least and the largest value', (length) => length === 2)

/** Ranges that the rows of a fit covered. Predictions outside these ranges are extrapolations. */
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
  /** Kinds of mixes that occur in the rows. */
  mixes: Mix[]
  /**
   * Uncertainty of the fit at its own rows: the 99th percentile of the standard deviations of ln(throughput) and
   * ln(power) due to uncertain corrections.
   */
  unknownSd: { throughput: number; power: number }
}

const fittedProfile = record<FittedProfile>({
  networks: atMinOne(
    record<FittedProfile['networks'][number]>({ name: someText, ...each(range, 'mpsPercent', 'batchSize', 'tenants') }),
  ),
  smClockMhz: atMinOne(record<FittedProfile['smClockMhz'][number]>({ memClockMhz: positive, range })),
  mixes: atMinOne(oneOfThe(...mixes)),
  unknownSd: record<FittedProfile['unknownSd']>(each(positive, 'throughput', 'power')),
})

/** Number of directions in which boards of one kind differ. */
export const FACTORS = 7
/** Number of terms of the residual's variance. */
export const RESIDUAL_TERMS = 13

/**
 * State of the error model (`uncertainty/error-model.ts`): how boards of one kind differ from the equations and from
 * each other, and what rows of this board have taught since the fit.
 */
export interface ErrorState {
  quantity: 'throughput' | 'power'
  /** Number of rows of this board that were learnt since the fit. */
  rows: number
  /** Factor on all variances. */
  scale: number
  /** Networks in the order of their terms in `mean` and `factors`. */
  networks: string[]
  /** Mean over boards of the weights of the terms phi; empty for zeros. */
  mean: number[]
  /** Directions in which boards differ, each one standard deviation long. */
  factors: number[][]
  /** Standard deviation of a network's own difference, in addition to the factors. */
  networkSd: number
  /** Weights of the terms of the residual's variance. */
  residual: number[]
  /** Estimated coefficients of the factors, then of the networks. `covariance` is the lower triangle of their covariance. */
  learnt: number[]
  covariance: number[]
}

const numbers = listOf(
  numberThat('a number', () => true),
  'numbers',
)

/** Reject duplicate names, because only the first entry of a name would be used. */
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

export const networkList: FieldCheck = eachOnce('name', atMinOne(networkParameters))

const errorState = record<ErrorState>({
  quantity: oneOfThe('throughput', 'power'),
  rows: count,
  scale: positive,
  networks: listOf(someText),
  ...each(numbers, 'mean', 'learnt', 'covariance'),
  factors: listOf(numbers, `${FACTORS} lists`, (length) => length === FACTORS),
  networkSd: nonNegative,
  residual: listOf(positive, `${RESIDUAL_TERMS} numbers`, (length) => length === RESIDUAL_TERMS),
})

const errorQuantities = ['throughput', 'tenant throughput', 'power', 'SM utilisation', 'memory utilisation'] as const

/** Median and 95th percentile of the error of one quantity over one kind of rows. */
export interface ErrorSummary {
  quantity: (typeof errorQuantities)[number]
  /** Percent of the measured value, or percentage points for utilisations. */
  unit: '%' | 'points'
  rows: 'all' | Mix
  count: number
  median: number
  p95: number
}

const errorSummary = record<ErrorSummary>({
  quantity: oneOfThe(...errorQuantities),
  unit: oneOfThe('%', 'points'),
  rows: oneOfThe('all', ...mixes),
  count,
  ...each(nonNegative, 'median', 'p95'),
})

/** All parameters of a `PerfModel`, as stored in a parameter file. */
export interface PerfModelParameters {
  schemaVersion: typeof PARAMETER_SCHEMA_VERSION
  /** Key of the board, e.g. `3080Ti`. */
  board: string
  provenance: {
    /** Description of the measurements. */
    source: string
    rows: number
    /** Number of rows left out because a tenant failed in them. */
    failedRows: number
    folds: number
    seed: number
    /** Errors on held-out configurations; empty without cross-validation. */
    heldOutErrors: ErrorSummary[]
    /** Number of `refit` calls since the fit. */
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
    ...each(count, 'failedRows', 'folds', 'refits'),
    seed: numberThat('an integer', Number.isInteger),
    heldOutErrors: listOf(errorSummary),
  }),
  boardParameters,
  networks: networkList,
  profile: fittedProfile,
  errors: eachOnce(
    'quantity',
    listOf(errorState, 'two states', (length) => length === 2),
  ),
})

/** Thrown if a parameter file belongs to another version of the equations. */
export class ParameterVersionError extends PctodlError {
  readonly found: unknown

  constructor(found: unknown) {
    super(
      'PARAMETER_VERSION',
      `schemaVersion: got ${typeof found === 'number' ? found : `a ${typeof found}`}, expected ${PARAMETER_SCHEMA_VERSION}; fit the parameters anew with ` +
        'this release, or use the release that wrote them',
    )
    this.found = found
  }
}

/**
 * Check parsed JSON and return a typed copy.
 *
 * @throws ParameterVersionError for another schema version
 * @throws InvalidInputError that names the first wrong field
 */
export function parsePerfModelParameters(json: unknown): PerfModelParameters {
  if (typeof json === 'object' && json !== null && 'schemaVersion' in json) {
    if (json.schemaVersion !== PARAMETER_SCHEMA_VERSION) throw new ParameterVersionError(json.schemaVersion)
  }
  perfModelParameters(json, 'parameters')
  return structuredClone(json as PerfModelParameters)
}

import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import { CORRECTION_NODES } from './corrections.js'

/** Version of the parameter file's layout and of the equations that its numbers belong to. */
export const PARAMETER_SCHEMA_VERSION = 2

const positive = z.number().positive()
const nonNegative = z.number().nonnegative()

const boardSchema = z.strictObject({
  /** DRAM traffic that one SM can draw, bytes per SM clock cycle. */
  bytesPerCyclePerSm: positive,
  /** DRAM demand at which waiting would have no end, in parts of the peak bandwidth. */
  bandwidthCeiling: positive.max(1),
  /** Traffic per batch over all tenants of which caches still keep half away from DRAM, MB. */
  cacheReachMb: positive,
  /** Tenants that can launch kernels side by side at full speed. */
  launchClients: positive,
  /** Tenants whose samples the host can prepare side by side at full speed. */
  hostClients: positive,
  /** Growth of the host time per sample once a batch is large, in parts of it. */
  largeBatchHostFactor: nonNegative,
  /** Batch size at which half of that growth has set in. */
  largeBatchKnee: positive,
  /** Power at zero activity for each memory clock of the fit, memory clocks descending. */
  idlePowerW: z.array(z.strictObject({ memClockMhz: positive, powerW: positive })).min(1),
  /** Power of the clock tree at the boost clock, W. */
  clockTreePowerW: nonNegative,
  /** Power of one busy SM at the boost clock, W. */
  smPowerW: nonNegative,
  /** Fall of the voltage with the clock: V / V(boost) = 1 - slope * (1 - f / f(boost)). */
  voltageSlope: nonNegative,
  /** The voltage that no clock goes below, in parts of V(boost). */
  voltageFloor: positive.max(1),
  /** GPU memory in use beside the tenants' processes, MiB. */
  memoryReservedMib: nonNegative,
})

/** A grid of logarithms as `correctionGrid` lays it out; empty: no correction. */
const grid = z
  .array(z.number().min(-2).max(2))
  .refine((values) => values.length === 0 || values.length === CORRECTION_NODES, `0 or ${CORRECTION_NODES} numbers`)

const correctionSchema = z.strictObject({
  memClockMhz: positive,
  /** Logarithm of the factor on the tenant's speed; does not fall along the share. */
  speed: grid,
  /** Logarithm of the factor on the tenant's part of the dynamic power. */
  dynamicPower: grid,
})

const networkSchema = z.strictObject({
  name: z.string().min(1),
  /** Arithmetic, SM mega-cycles per sample. */
  computePerSample: positive,
  /** Arithmetic that a batch of any size costs, SM mega-cycles. */
  computePerBatch: nonNegative,
  /** Dependent steps that more SMs do not shorten, mega-cycles per batch. */
  serialPerBatch: nonNegative,
  /** The same per sample. */
  serialPerSample: nonNegative,
  /** Memory traffic of operators that also compute, MB per sample. */
  mixedMbPerSample: nonNegative,
  /** The same per batch (weights), MB. */
  mixedMbPerBatch: nonNegative,
  /** Memory traffic of operators that only move elements, MB per sample. */
  streamMbPerSample: positive,
  /** Device time per batch that no clock changes, ms. */
  gapMs: nonNegative,
  /** Host time to launch a batch, ms. */
  launchMs: positive,
  /** Host time per sample, ms. */
  hostPerSampleMs: nonNegative,
  /** Energy of a sample that scales with the square of the voltage, mJ at the boost clock. */
  coreEnergyMj: nonNegative,
  /** The same for a batch of any size, mJ. */
  batchEnergyMj: nonNegative,
  /** Energy of a sample's DRAM traffic where caches keep none of it away, mJ. */
  memoryEnergyMj: nonNegative,
  /** Traffic that the board's utilisation counter sees where caches keep none of it away, MB per sample. */
  countedMbPerSample: nonNegative,
  /** GPU memory of one process, MiB. */
  memoryBaseMib: nonNegative,
  /** GPU memory per sample of the batch, MiB. */
  memoryPerSampleMib: nonNegative,
  /** What the equations leave over, by memory clock; without an entry for a clock there is no correction at it. */
  corrections: z.array(correctionSchema),
})

const range = z.tuple([positive, positive])

/** What the rows of the fit covered. Predictions outside are extrapolations. */
const profileSchema = z.strictObject({
  networks: z
    .array(z.strictObject({ name: z.string().min(1), mpsPercent: range, batchSize: range, tenants: range }))
    .min(1),
  smClockMhz: z.array(z.strictObject({ memClockMhz: positive, range })).min(1),
  /** Which kinds of tenants shared the board. */
  mixes: z.array(z.enum(['like tenants', 'unlike tenants', 'several networks'])).min(1),
})

const spreadSchema = z.strictObject({
  quantity: z.enum(['throughput', 'tenant throughput', 'power']),
  mix: z.enum(['like tenants', 'unlike tenants', 'several networks']),
  tenants: z.enum(['1', '2-4', '5+']),
  /** Rows of the region; where there are fewer than 20, `sd` is that of all rows. */
  count: z.int().nonnegative(),
  /** Root mean square of ln(measured / predicted), on held-out rows where there was a cross-validation. */
  sd: nonNegative,
})

const errorSchema = z.strictObject({
  quantity: z.enum(['throughput', 'tenant throughput', 'power', 'SM utilisation', 'memory utilisation']),
  /** Relative errors are in percent of the measured value, utilisations in points. */
  unit: z.enum(['%', 'points']),
  rows: z.enum(['all', 'like tenants', 'unlike tenants', 'several networks']),
  count: z.int().nonnegative(),
  median: nonNegative,
  p95: nonNegative,
})

const parameterSchema = z.strictObject({
  schemaVersion: z.literal(PARAMETER_SCHEMA_VERSION),
  /** Key of the board, e.g. `3080Ti`. */
  board: z.string().min(1),
  provenance: z.strictObject({
    /** What was measured, in words. */
    source: z.string().min(1),
    rows: z.int().positive(),
    /** Rows left out because a tenant failed in them. */
    failedRows: z.int().nonnegative(),
    folds: z.int().nonnegative(),
    seed: z.int(),
    /** Errors on held-out configurations; empty where no cross-validation was made. */
    heldOutErrors: z.array(errorSchema),
    /** How often `refit` has changed the parameters since the fit. */
    refits: z.int().nonnegative(),
  }),
  boardParameters: boardSchema,
  networks: z.array(networkSchema).min(1),
  profile: profileSchema,
  spread: z.array(spreadSchema),
})

export type BoardParameters = z.infer<typeof boardSchema>
export type NetworkParameters = z.infer<typeof networkSchema>
export type NetworkCorrection = z.infer<typeof correctionSchema>
/** The ranges that the rows of a fit covered. */
export type FittedProfile = z.infer<typeof profileSchema>
export type Mix = FittedProfile['mixes'][number]
/** How far predictions lie from measurements in one region. */
export type Spread = z.infer<typeof spreadSchema>
/** Median and 95th percentile of the error of one quantity over one kind of rows. */
export type ErrorSummary = z.infer<typeof errorSchema>
/** Everything that makes a `PerfModel`, as stored in a parameter file. */
export type PerfModelParameters = z.infer<typeof parameterSchema>

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
 * Check parsed JSON and return it typed.
 *
 * @throws ParameterVersionError for another schema version
 * @throws InvalidInputError naming the first field that is wrong
 */
export function parsePerfModelParameters(json: unknown): PerfModelParameters {
  if (typeof json === 'object' && json !== null && 'schemaVersion' in json) {
    if (json.schemaVersion !== PARAMETER_SCHEMA_VERSION) throw new ParameterVersionError(json.schemaVersion)
  }
  const result = parameterSchema.safeParse(json)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  const value = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], json)
  throw new InvalidInputError(['parameters', ...issue.path].join('.'), value, issue.message, { cause: result.error })
}

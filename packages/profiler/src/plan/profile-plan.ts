import { InvalidInputError, MAX_MPS_CLIENTS, type Tenant } from '@pctodl/platform'
import { z } from 'zod'

/** Which sweep a row belongs to. */
export const sweepNames = [
  'anchor',
  'clocks',
  'scaling',
  'mixes',
  'active',
  'static',
  'single',
  'micro',
  'pairs',
  'test',
] as const
export type SweepName = (typeof sweepNames)[number]

/** One configuration to measure once. */
export interface PlannedRow {
  readonly sweep: SweepName
  /** Empty for a row that measures the board without work. */
  readonly tenants: readonly Tenant[]
  /** SM clock to lock, MHz; null leaves it to the firmware. */
  readonly smClockMhz: number | null
  /** Memory clock to lock, MHz; null leaves it to the firmware. */
  readonly memClockMhz: number | null
  /** Which repetition of the configuration this is, from 0. */
  readonly repeat: number
}

/** How a row is measured; every time in milliseconds. */
export interface MeasureOptions {
  /** Period of the readings. */
  readonly sampleMs: number
  /** Throughput and power count as stationary over a stretch of this length, see `settle`. */
  readonly settleWindowMs: number
  /** No settling is shorter; upstream's warm-up as a lower bound. */
  readonly settleLeastMs: number
  /** A row that has not settled by then is measured and marked. */
  readonly settleMostMs: number
  /** Largest relative drift of power and of throughput, percent. */
  readonly settleTolerancePercent: number
  readonly windowLeastMs: number
  readonly windowMostMs: number
  /** The window grows until the standard errors of mean power and throughput are below this, percent. */
  readonly standardErrorPercent: number
  /** Batches that every tenant completes in a window, at least. */
  readonly leastBatches: number
}

export const defaultMeasure: MeasureOptions = {
  sampleMs: 100,
  settleWindowMs: 5000,
  settleLeastMs: 5000,
  settleMostMs: 40_000,
  settleTolerancePercent: 1,
  windowLeastMs: 4000,
  windowMostMs: 20_000,
  standardErrorPercent: 0.5,
  leastBatches: 3,
}

/** A profile as a file: what is measured, in this order, and how. */
export interface ProfilePlan {
  readonly version: 1
  /** Key of the board that the plan was made for. */
  readonly board: string
  /** Decided the order of the rows and what was drawn. */
  readonly seed: number
  readonly measure: MeasureOptions
  readonly rows: readonly PlannedRow[]
}

const tenantSchema = z.strictObject({
  model: z.string().min(1),
  mpsPercent: z.number().gt(0).max(100),
  batchSize: z.int().min(1),
})

const rowSchema = z.strictObject({
  sweep: z.enum(sweepNames),
  tenants: z.array(tenantSchema).max(MAX_MPS_CLIENTS),
  smClockMhz: z.number().positive().nullable(),
  memClockMhz: z.number().positive().nullable(),
  repeat: z.int().min(0),
})

const durationMs = z.number().positive()

export const measureSchema: z.ZodType<MeasureOptions> = z.strictObject({
  sampleMs: durationMs,
  settleWindowMs: durationMs,
  settleLeastMs: durationMs,
  settleMostMs: durationMs,
  settleTolerancePercent: z.number().positive(),
  windowLeastMs: durationMs,
  windowMostMs: durationMs,
  standardErrorPercent: z.number().positive(),
  leastBatches: z.int().min(1),
})

const planSchema = z.strictObject({
  version: z.literal(1),
  board: z.string().min(1),
  seed: z.int(),
  measure: measureSchema,
  rows: z.array(rowSchema).min(1),
})

/**
 * Check somebody's JSON as a plan.
 *
 * @param source for messages, e.g. the file name
 * @throws InvalidInputError naming the place and what was expected there
 */
export function parsePlan(json: unknown, source: string): ProfilePlan {
  const result = planSchema.safeParse(json)
  if (!result.success) {
    const issue = result.error.issues[0]!
    throw new InvalidInputError(
      `${source}: ${issue.path.join('.') || 'plan'}`,
      valueAt(json, issue.path),
      issue.message,
    )
  }
  result.data.rows.forEach((row, i) => {
    const sum = row.tenants.reduce((total, tenant) => total + tenant.mpsPercent, 0)
    if (sum > 100 + 1e-9)
      throw new InvalidInputError(`${source}: rows.${i}.tenants`, sum, 'shares of at most 100 in sum')
  })
  return result.data
}

function valueAt(json: unknown, path: readonly PropertyKey[]): unknown {
  let value = json
  for (const key of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key]
  return value
}

import { checked } from '@pctodl/command-line'
import { InvalidInputError, MAX_MPS_CLIENTS, type Tenant } from '@pctodl/platform'
import { z } from 'zod'

/** Name of the sweep that a row belongs to. */
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
  /** Number of the repetition of this configuration, from 0. */
  readonly repeat: number
}

/** Whether a row locks a clock. */
export function requestsClock({ smClockMhz, memClockMhz }: PlannedRow): boolean {
  return smClockMhz !== null || memClockMhz !== null
}

/** How rows are measured; all times in milliseconds. */
export interface MeasureOptions {
  /** Time between two readings of sensors and counters. */
  readonly sampleMs: number
  /**
   * Length of the last part of the settling time, over which throughput and power must be stationary (see `isSettled`).
   */
  readonly settleWindowMs: number
  /** Minimum settling time. Default: the Python code's warm-up. */
  readonly settleMinMs: number
  /** Maximum settling time. A row that has not settled by then is measured and marked `unsettled`. */
  readonly settleMaxMs: number
  /** Maximum relative difference of power and of throughput between the two halves of the settling window, percent. */
  readonly settleTolerancePercent: number
  readonly windowMinMs: number
  readonly windowMaxMs: number
  /**
   * Target of the relative standard errors of mean power and throughput, percent. The measuring window grows until both
   * are below the target.
   */
  readonly standardErrorPercent: number
  /** Minimum number of batches that each tenant must complete in the measuring window. */
  readonly minBatches: number
}

export const defaultMeasure: MeasureOptions = {
  sampleMs: 100,
  settleWindowMs: 5000,
  settleMinMs: 5000,
  settleMaxMs: 40_000,
  settleTolerancePercent: 1,
  windowMinMs: 4000,
  windowMaxMs: 20_000,
  standardErrorPercent: 0.5,
  minBatches: 3,
}

/** The contents of a plan file: the rows in order, and how to measure them. */
export interface ProfilePlan {
  readonly version: 1
  /** Key of the board for which the plan was made. */
  readonly board: string
  /** Determines the order of the rows and the random draws. */
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

const measureFields = Object.fromEntries(
  Object.keys(defaultMeasure).map((name) => [name, name === 'minBatches' ? z.int().min(1) : z.number().positive()]),
) as Record<keyof MeasureOptions, z.ZodNumber>

const planSchema: z.ZodType<ProfilePlan> = z.strictObject({
  version: z.literal(1),
  board: z.string().min(1),
  seed: z.int(),
  measure: z.strictObject(measureFields),
  rows: z.array(rowSchema).min(1),
})

/**
 * Parses a plan from JSON.
 *
 * @param source name of the file for messages
 * @throws InvalidInputError naming the invalid field and what it should contain
 */
export function parsePlan(json: unknown, source: string): ProfilePlan {
  const plan = checked<ProfilePlan>(planSchema, json, source)
  plan.rows.forEach((row, i) => {
    const sum = row.tenants.reduce((total, tenant) => total + tenant.mpsPercent, 0)
    if (sum > 100 + 1e-9)
      throw new InvalidInputError(`${source}: rows.${i}.tenants`, sum, 'shares of at most 100 in sum')
  })
  return plan
}

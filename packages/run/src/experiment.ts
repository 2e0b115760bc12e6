import { z } from 'zod'

/** The algorithms that are compared, in the order of tables, and two reference lines. */
export const experimentAlgorithms = [
  'pctodl',
  'morak',
  'batchdvfs',
  'directcap',
  'powercap',
  'equal-split',
  'reference',
  'static-best',
] as const

export type ExperimentAlgorithm = (typeof experimentAlgorithms)[number]

const positive = z.number().positive()

/**
 * Settings that decide the policy of a run. They are kept with its record, so that a replay can create the same one.
 */
export interface Experiment {
  algorithm: ExperimentAlgorithm
  /** Variant of a baseline. */
  variant: 'fair' | 'published' | 'tuned'
  model: string
  /** The board's key. */
  board: string
  /** Whether the cap follows a schedule. */
  scheduled: boolean
  powerMarginW: number
  sharePercentStep: number
  /** Look for better tenants while running. */
  shadow: boolean
  hardwareLimit: boolean
  sensorTolerancePercent: number
  /** Plan for this memory clock only. */
  memClockMhz?: number | undefined
  /** Folder of predictor parameters; absent for the shipped ones. */
  parametersFolder?: string | undefined
  /** Instead of a plan. */
  tenants?: { model: string; mpsPercent: number; batchSize: number }[] | undefined
}

export const experimentSchema: z.ZodType<Experiment> = z.strictObject({
  algorithm: z.enum(experimentAlgorithms),
  variant: z.enum(['fair', 'published', 'tuned']),
  model: z.string(),
  board: z.string(),
  scheduled: z.boolean(),
  powerMarginW: z.number().nonnegative(),
  memClockMhz: positive.optional(),
  sharePercentStep: positive,
  shadow: z.boolean(),
  hardwareLimit: z.boolean(),
  sensorTolerancePercent: z.number().nonnegative(),
  parametersFolder: z.string().optional(),
  tenants: z.array(z.strictObject({ model: z.string(), mpsPercent: positive, batchSize: positive })).optional(),
})

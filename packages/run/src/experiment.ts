import { z } from 'zod'

/** The algorithms that can be compared, in the order of tables. The last two are reference lines. */
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
 * Settings that determine the policy of a run. The run's record contains them, so that a replay can create the same
 * policy.
 */
export interface Experiment {
  algorithm: ExperimentAlgorithm
  /** Variant of a baseline. */
  variant: 'fair' | 'published' | 'tuned'
  model: string
  /** Key of the board. */
  board: string
  /** Whether the cap follows a schedule. */
  scheduled: boolean
  powerMarginW: number
  sharePercentStep: number
  /** Search for better tenants while running. */
  shadow: boolean
  hardwareLimit: boolean
  sensorTolerancePercent: number
  /** Plan only for this memory clock, MHz. */
  memClockMhz?: number | undefined
  /** Folder with predictor parameters; absent if the shipped ones are used. */
  parametersFolder?: string | undefined
  /** Fixed tenants instead of a plan. */
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

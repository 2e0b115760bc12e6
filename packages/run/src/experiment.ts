import { z } from 'zod'
import { type ExperimentAlgorithm, experimentAlgorithms, policyNames } from './policy-names.js'

const positive = z.number().positive()

/**
 * Settings that determine the policy of a run. The run's record contains them, so that a replay can create the same
 * policy.
 */
export interface Experiment {
  algorithm: ExperimentAlgorithm
  model: string
  /** Key of the board. */
  board: string
  /** Caps of the run, W. */
  capsW: number[]
  powerMarginW: number
  sharePercentStep: number
  /** Whether pctodl searches for better tenants while it runs. */
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

/** Converts records of earlier releases. These had a separate field for the form of a baseline. */
function inPresentWords(recorded: unknown): unknown {
  if (typeof recorded !== 'object' || recorded === null) return recorded
  const { variant, scheduled: _, ...others } = recorded as Readonly<Record<string, unknown>>
  const algorithm = others['algorithm']
  const formed = algorithm === 'directcap' && variant === 'tuned' ? 'plan-limit' : `${algorithm}-${variant}`
  if (algorithm === 'static-best') return { ...others, algorithm: 'plan-locked' }
  return policyNames.some((name) => name === formed) ? { ...others, algorithm: formed } : others
}

export const experimentSchema: z.ZodType<Experiment> = z.preprocess(
  inPresentWords,
  z.strictObject({
    algorithm: z.enum(experimentAlgorithms),
    model: z.string(),
    board: z.string(),
    capsW: z.array(positive),
    powerMarginW: z.number().nonnegative(),
    memClockMhz: positive.optional(),
    sharePercentStep: positive,
    shadow: z.boolean(),
    hardwareLimit: z.boolean(),
    sensorTolerancePercent: z.number().nonnegative(),
    parametersFolder: z.string().optional(),
    tenants: z.array(z.strictObject({ model: z.string(), mpsPercent: positive, batchSize: positive })).optional(),
  }),
)

import { z } from 'zod'
import { algorithmNames } from '../algorithms.js'

/** The matrix' algorithms and the two lines to compare them with. */
export const experimentAlgorithms = [...algorithmNames, 'reference', 'static-best'] as const

export type ExperimentAlgorithm = (typeof experimentAlgorithms)[number]

const positive = z.number().positive()
const count = z.number().int().nonnegative()

/** What decides the policy of a run: kept with its record, so that a replay can make the same one. */
export const experimentSchema = z.strictObject({
  algorithm: z.enum(experimentAlgorithms),
  /** Of a baseline. */
  variant: z.enum(['fair', 'published']),
  model: z.string(),
  /** The board's key. */
  board: z.string(),
  /** The cap follows a schedule. */
  scheduled: z.boolean(),
  powerMarginW: z.number().nonnegative(),
  /** Plan for this memory clock only. */
  memClockMhz: positive.optional(),
  sharePercentStep: positive,
  shadow: z.union([
    z.literal(false),
    z.strictObject({
      interval: count,
      radius: count,
      threshold: z.number().nonnegative(),
      history: count,
      gpRefitInterval: count,
      gpMaxPoints: count,
      sharePercentStep: positive,
      adjustMemClock: z.boolean(),
    }),
  ]),
  backstop: z.boolean(),
  sensorTolerancePercent: z.number().nonnegative(),
  /** Folder of predictor parameters; absent for the shipped ones. */
  parametersFolder: z.string().optional(),
  /** Instead of a plan. */
  tenants: z.array(z.strictObject({ model: z.string(), mpsPercent: positive, batchSize: positive })).optional(),
})

export type Experiment = z.infer<typeof experimentSchema>

import { z } from 'zod'
import { checked, readJson } from '../json-file.js'

export const PLAN_FORMAT = 'pctodl-hetero-plan'
export const PLAN_VERSION = 1
export const RUN_FORMAT = 'pctodl-hetero-run'

interface Totals {
  timeS: number
  energyJ: number
}

interface GpuShare {
  name: string
  share: number
  powerLimitW: number | null
  smClockMhz?: number | null | undefined
  energyJ: number
}

/** The fields of `pctodl hetero plan --json` that are needed to carry the plan out. */
export interface PlanFile extends Totals {
  format: typeof PLAN_FORMAT
  version: typeof PLAN_VERSION
  globalBatch: number
  unit: 'step' | 'window'
  gpus: (GpuShare & { microBatches?: number | undefined })[]
  compared: Record<string, Totals>
  allReduceS?: number | undefined
}

/** Time and energy of a run. */
export interface RunFile extends Totals {
  format: typeof RUN_FORMAT
  version: typeof PLAN_VERSION
  /** True for simulated boards, whose times are virtual. */
  simulated?: boolean | undefined
  /** Measured GPUs. One that the plan leaves out has no share, and is listed only if its board was named. */
  gpus: GpuShare[]
  /**
   * Measurement between the first and the last printed step; null with fewer than two steps. On simulated boards, the
   * steps after the warm-up.
   */
  steady: { steps: number; timeS: number; energyJ: Record<string, number> } | null
}

const notNegative = z.number().nonnegative()
const totals = { timeS: notNegative, energyJ: notNegative }
const gpu = {
  name: z.string().min(1),
  share: z.number().int().nonnegative(),
  powerLimitW: z.number().positive().nullable(),
  smClockMhz: z.number().positive().nullish(),
  energyJ: notNegative,
}

const planSchema = z
  .object({
    format: z.literal(PLAN_FORMAT),
    version: z.literal(PLAN_VERSION),
    globalBatch: z.number().int().positive(),
    unit: z.enum(['step', 'window']),
    ...totals,
    gpus: z.array(z.object({ ...gpu, microBatches: z.number().int().positive().optional() })).min(1),
    compared: z.record(z.string(), z.object(totals)),
    allReduceS: notNegative.optional(),
  })
  .refine(({ gpus, globalBatch }) => gpus.reduce((sum, { share }) => sum + share, 0) === globalBatch, {
    path: ['gpus'],
    message: 'expected shares that add up to globalBatch',
  })
  .refine(({ gpus }) => new Set(gpus.map(({ name }) => name)).size === gpus.length, {
    path: ['gpus'],
    message: 'expected a different name for each GPU',
  })
  .refine(({ gpus }) => gpus.every(({ share, powerLimitW }) => (share === 0) === (powerLimitW === null)), {
    path: ['gpus'],
    message: 'expected a powerLimitW for each GPU that has a share, and null for one that has none',
  })

const runSchema = z.object({
  format: z.literal(RUN_FORMAT),
  version: z.literal(PLAN_VERSION),
  simulated: z.boolean().optional(),
  ...totals,
  gpus: z.array(z.object(gpu)),
  steady: z
    .object({
      steps: z.number().int().positive(),
      timeS: z.number().positive(),
      energyJ: z.record(z.string(), notNegative),
    })
    .nullable(),
})

/** @throws InvalidInputError naming file and field */
export const readPlan = (file: string): PlanFile =>
  read(planSchema, file, "a plan, as 'pctodl hetero plan --json' prints it")
/** @throws InvalidInputError naming file and field */
export const readRun = (file: string): RunFile =>
  read(runSchema, file, "a run, as 'pctodl hetero launch --output' writes it")

/** Training GPUs of a plan, in rank order. */
export function trainingGpus({ gpus }: PlanFile): (PlanFile['gpus'][number] & { powerLimitW: number })[] {
  return gpus.flatMap((gpu) => (gpu.powerLimitW === null ? [] : [{ ...gpu, powerLimitW: gpu.powerLimitW }]))
}

function read<T>(schema: z.ZodType<T>, file: string, what: string): T {
  return checked(schema, readJson(file, what), file, what)
}

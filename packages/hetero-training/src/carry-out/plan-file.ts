import { sum } from '@pctodl/numerics'
import { z } from 'zod'
import { repeated } from '../input-checks.js'
import { readFile } from '../json-file.js'
import type { GpuPlan, TrainingPlan } from '../training-plan.js'

export const PLAN_FORMAT = 'pctodl-hetero-plan'
export const PLAN_VERSION = 1
export const RUN_FORMAT = 'pctodl-hetero-run'

type Totals = Pick<TrainingPlan, 'timeS' | 'energyJ'>

interface GpuShare extends Pick<GpuPlan, 'name' | 'share' | 'powerLimitW' | 'energyJ'> {
  readonly smClockMhz?: number | null | undefined
}

/** The fields of `pctodl hetero plan --json` that are needed to carry the plan out. */
export interface PlanFile extends Totals, Pick<TrainingPlan, 'unit'> {
  readonly format: typeof PLAN_FORMAT
  readonly version: typeof PLAN_VERSION
  readonly globalBatch: number
  readonly gpus: readonly (GpuShare & { readonly microBatches?: number | undefined })[]
  readonly compared: Readonly<Record<string, Totals>>
  readonly allReduceS?: number | undefined
}

/** Time and energy of a run. */
export interface RunFile extends Totals {
  readonly format: typeof RUN_FORMAT
  readonly version: typeof PLAN_VERSION
  /** True for simulated boards, whose times are virtual. */
  readonly simulated?: boolean | undefined
  /** Measured GPUs. One that the plan leaves out has no share, and is listed only if its board was named. */
  readonly gpus: readonly GpuShare[]
  /** Measured from the first printed step, or from the end of the simulated warm-up; null with fewer than two steps. */
  readonly steady: { readonly steps: number; readonly timeS: number; readonly energyJ: Record<string, number> } | null
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

/** Returns an issue of the field `gpus`, as zod reports it. */
const gpusMust = (expected: string) => ({ path: ['gpus'], message: `expected ${expected}` })

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
  .refine(
    ({ gpus, globalBatch }) => sum(gpus.map(({ share }) => share)) === globalBatch,
    gpusMust('shares that add up to globalBatch'),
  )
  .refine(({ gpus }) => repeated(gpus.map(({ name }) => name)) === undefined, gpusMust('a different name for each GPU'))
  .refine(
    ({ gpus }) => gpus.every(({ share, powerLimitW }) => (share === 0) === (powerLimitW === null)),
    gpusMust('a powerLimitW for each GPU that has a share, and null for one that has none'),
  )

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
  readFile(file, "a plan, as 'pctodl hetero plan --json' prints it", () => planSchema)
/** @throws InvalidInputError naming file and field */
export const readRun = (file: string): RunFile =>
  readFile(file, "a run, as 'pctodl hetero launch --output' writes it", () => runSchema)

/** Training GPUs of a plan, in rank order. */
export function trainingGpus({ gpus }: PlanFile): (PlanFile['gpus'][number] & { powerLimitW: number })[] {
  return gpus.flatMap((gpu) => (gpu.powerLimitW === null ? [] : [{ ...gpu, powerLimitW: gpu.powerLimitW }]))
}

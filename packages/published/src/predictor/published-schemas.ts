import { z } from 'zod'
import type {
  ClosedFormParameters,
  EnsembleDescription,
  EnsembleDescriptions,
  PublishedIndexEntry,
} from './published-set.js'

const finite = z.number()

const throughputSchema = z.object({
  kappa_a: finite,
  kappa_b: finite,
  batch_aware_kappa: z.boolean(),
  gamma_t: finite.positive(),
  T_start: finite.nonnegative(),
  f_ref: finite.positive(),
  f_min: finite.positive(),
})

const powerSchema = z.object({
  static: z.object({ delta_3: finite, delta_2: finite, delta_1: finite, delta_0: finite }),
  dynamic: z.object({ gamma_p: finite.positive(), P_base: finite, f_ref: finite.positive(), f_min: finite.positive() }),
})

export const closedFormSchema: z.ZodType<ClosedFormParameters> = z.object({
  sm_base: z.object({ lambda_sm: finite, gamma_sm: finite, beta_sm: finite }),
  sm_system: z.object({ alpha: finite, beta: finite, kappa: finite.positive() }),
  mem_base: z.object({ phi_mem: finite, alpha_mem: finite, lambda_mem: finite, beta_mem: finite }),
  mem_system: z.object({ k1: finite, k2: finite, alpha: finite, beta: finite, mu: finite, tau: finite }),
  throughput: throughputSchema,
  power: powerSchema,
  workload: z.object({ gflops: finite.nonnegative(), params_M: finite.nonnegative() }),
})

const nodeArray = z.array(z.number())

/**
 * One tree as three arrays with one entry per node, in depth-first pre-order: the feature that the node splits on (-1:
 * leaf), its threshold or leaf value, and the index of its right child.
 */
const treeSchema = z.tuple([nodeArray, nodeArray, nodeArray])

const ensembleSchema: z.ZodType<EnsembleDescription> = z.object({
  init: finite,
  learning_rate: finite.positive(),
  n_features: z.int().positive(),
  trees: z.array(treeSchema).min(1),
})

export const ensembleFileSchema: z.ZodType<{ ensembles: EnsembleDescriptions }> = z.object({
  ensembles: z.object({ sm: ensembleSchema, mem: ensembleSchema, throughput: ensembleSchema, power: ensembleSchema }),
})

export const indexSchema: z.ZodType<PublishedIndexEntry[]> = z.array(
  z.object({
    model: z.string().min(1),
    dataset: z.string().min(1).nullable(),
    platform: z.string().min(1).nullable(),
    mem_freq_mhz: finite.positive(),
    params: z.string().min(1),
    gbr: z.string().min(1),
  }),
)

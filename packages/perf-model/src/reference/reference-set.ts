import { z } from 'zod'

/** Upstream names a set by network, dataset, platform and memory clock; the middle two may be absent from the name. */
export interface ReferenceSetId {
  /** Upstream's name of the network: `mnasnet`, not torchvision's `mnasnet1_0`. */
  readonly model: string
  readonly dataset: string | null
  readonly platform: string | null
  readonly memClockMhz: number
}

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

/** The closed forms' parameters of one set, in upstream's words. Fields that no prediction reads are ignored. */
export const closedFormSchema = z.object({
  sm_base: z.object({ lambda_sm: finite, gamma_sm: finite, beta_sm: finite }),
  sm_system: z.object({ alpha: finite, beta: finite, kappa: finite.positive() }),
  mem_base: z.object({ phi_mem: finite, alpha_mem: finite, lambda_mem: finite, beta_mem: finite }),
  mem_system: z.object({ k1: finite, k2: finite, alpha: finite, beta: finite, mu: finite, tau: finite }),
  throughput: throughputSchema,
  power: powerSchema,
  workload: z.object({ gflops: finite.nonnegative(), params_M: finite.nonnegative() }),
})

const nodeArray = z.array(z.number())

/** One tree: feature of each node (-1: leaf), its threshold or leaf value, its right child; nodes in depth-first pre-order. */
const treeSchema = z.tuple([nodeArray, nodeArray, nodeArray])

export const ensembleSchema = z.object({
  init: finite,
  learning_rate: finite.positive(),
  n_features: z.int().positive(),
  trees: z.array(treeSchema).min(1),
})

export const ensembleFileSchema = z.object({
  ensembles: z.object({ sm: ensembleSchema, mem: ensembleSchema, throughput: ensembleSchema, power: ensembleSchema }),
})

export const indexSchema = z.array(
  z.object({
    model: z.string().min(1),
    dataset: z.string().min(1).nullable(),
    platform: z.string().min(1).nullable(),
    mem_freq_mhz: finite.positive(),
    params: z.string().min(1),
    gbr: z.string().min(1),
  }),
)

export type ClosedFormParameters = z.infer<typeof closedFormSchema>
export type ThroughputParameters = z.infer<typeof throughputSchema>
export type PowerParameters = z.infer<typeof powerSchema>
export type EnsembleDescription = z.infer<typeof ensembleSchema>
export type EnsembleDescriptions = z.infer<typeof ensembleFileSchema>['ensembles']

/** What upstream predicts with where it finds no file at all: it says nothing then, so we only do it when asked. */
export const upstreamDefaults: { readonly throughput: ThroughputParameters; readonly power: PowerParameters } = {
  throughput: {
    kappa_a: 0,
    kappa_b: 50,
    batch_aware_kappa: false,
    gamma_t: 0.8,
    T_start: 100,
    f_ref: 1950,
    f_min: 210,
  },
  power: {
    static: { delta_3: 2.31e-8, delta_2: -5.44e-5, delta_1: 0.039, delta_0: 85.6 },
    dynamic: { gamma_p: 3, P_base: 10, f_ref: 1950, f_min: 210 },
  },
}

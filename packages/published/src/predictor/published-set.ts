/** Identifier of a parameter set. Dataset and platform are null if the set's name does not contain them. */
export interface PublishedSetId {
  /** The Python code's name of the network: `mnasnet`, not torchvision's `mnasnet1_0`. */
  readonly model: string
  readonly dataset: string | null
  readonly platform: string | null
  readonly memClockMhz: number
}

export interface ThroughputParameters {
  kappa_a: number
  kappa_b: number
  batch_aware_kappa: boolean
  gamma_t: number
  T_start: number
  f_ref: number
  f_min: number
}

export interface PowerParameters {
  static: {
    delta_3: number
    delta_2: number
    delta_1: number
    delta_0: number
  }
  dynamic: {
    gamma_p: number
    P_base: number
    f_ref: number
    f_min: number
  }
}

/** Closed-form parameters of one set, with the Python code's names. Fields that no prediction reads are ignored. */
export interface ClosedFormParameters {
  sm_base: {
    lambda_sm: number
    gamma_sm: number
    beta_sm: number
  }
  sm_system: {
    alpha: number
    beta: number
    kappa: number
  }
  mem_base: {
    phi_mem: number
    alpha_mem: number
    lambda_mem: number
    beta_mem: number
  }
  mem_system: {
    k1: number
    k2: number
    alpha: number
    beta: number
    mu: number
    tau: number
  }
  throughput: ThroughputParameters
  power: PowerParameters
  workload: {
    gflops: number
    params_M: number
  }
}

export interface EnsembleDescription {
  init: number
  learning_rate: number
  n_features: number
  /**
   * Each tree as three arrays with one entry per node, in depth-first pre-order: feature (-1: leaf), threshold or leaf
   * value, index of the right child.
   */
  trees: [number[], number[], number[]][]
}

export interface EnsembleDescriptions {
  sm: EnsembleDescription
  mem: EnsembleDescription
  throughput: EnsembleDescription
  power: EnsembleDescription
}

/** Files of a set. */
export interface PublishedIndexEntry {
  model: string
  dataset: string | null
  platform: string | null
  mem_freq_mhz: number
  params: string
  gbr: string
}

/**
 * Constants that the Python code uses without a warning if it finds no parameter file. Here they are used only if
 * `whenMissing` selects them.
 */
export const referenceDefaults: { readonly throughput: ThroughputParameters; readonly power: PowerParameters } = {
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

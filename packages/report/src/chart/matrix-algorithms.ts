/** The algorithms of `bench-runner`, in the order of runs, tables and charts. */
export const matrixAlgorithms = [
  'pctodl',
  'plan-limit-step',
  'plan-limit',
  'equal-split-step',
  'equal-split',
  'measured-60s',
  'plan-fixed-clock',
  'fixed-clock',
  'equal-shares',
  'morak-tuned',
  'batchdvfs-tuned',
  'powercap-tuned',
  'latency-governor',
  'morak',
  'batchdvfs',
  'batchdvfs-original',
  'directcap',
  'powercap',
  'static-best',
  'oracle',
] as const

/** Reference values computed from the simulated board itself. They do not count as opponents. */
export const notCompeting: readonly string[] = ['static-best', 'oracle']

/**
 * Algorithms that run pctodl's tenants without its controller: with one step of feedback under the board's limit, or at
 * one locked clock that was tuned offline. They separate the gain of planning from the gain of control.
 */
export const planOnly: readonly string[] = ['plan-limit-step', 'plan-fixed-clock']

/** Algorithms that choose tenants without a throughput model. */
export const planLess: readonly string[] = [
  'equal-split-step',
  'equal-split',
  'measured-60s',
  'fixed-clock',
  'equal-shares',
  'morak-tuned',
  'batchdvfs-tuned',
  'powercap-tuned',
  'morak',
  'batchdvfs',
  'batchdvfs-original',
  'powercap',
]

/** The runner's algorithms, in the order of runs, tables and charts. */
export const matrixAlgorithms = [
  'pctodl',
  'plan-limit-step',
  'plan-limit',
  'equal-split-step',
  'equal-split',
  'measured-60s',
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

/** Reference lines that use the truth of the board; nobody competes with them. */
export const notCompeting: readonly string[] = ['static-best', 'oracle']

/** pctodl's plan with one step of feedback: it divides a gain into planning and control. */
export const PLANNED_STEP = 'plan-limit-step'

/** Algorithms that choose tenants without a model of throughput. */
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

/**
 * Algorithms that leave power to the board's own limit. They have no feedback where a cap lies below the lowest limit.
 */
export const limitOnly: readonly string[] = ['plan-limit', 'equal-split', 'powercap-tuned', 'directcap', 'powercap']

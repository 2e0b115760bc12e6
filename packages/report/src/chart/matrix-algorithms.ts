/** The algorithms of the runner, in the order in which they run, and stand in tables and charts. */
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

/** Know the truth of the board that they run on: lines to measure by, which nobody competes with. */
export const notCompeting: readonly string[] = ['static-best', 'oracle']

/** Pctodl's plan and one step of feedback: what divides a gain into planning and control. */
export const PLANNED_STEP = 'plan-limit-step'

/** Choose tenants without a model of throughput. */
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

/** Leave the power to the board's own limit: they have no feedback where a cap lies below its lowest. */
export const limitOnly: readonly string[] = ['plan-limit', 'equal-split', 'powercap-tuned', 'directcap', 'powercap']

/** The algorithms of the matrix, in the order in which they run, and stand in tables and charts. */
export const matrixAlgorithms = [
  'pctodl',
  'plan-limit-step',
  'plan-limit',
  'equal-split-step',
  'equal-split',
  'measured-60s',
  'morak-tuned',
  'batchdvfs-tuned',
  'powercap-tuned',
  'morak',
  'batchdvfs',
  'batchdvfs-original',
  'directcap',
  'powercap',
  'static-best',
] as const

/** The algorithms of the matrix, in the order in which they run, and stand in tables and charts. */
export const matrixAlgorithms = [
  'pctodl',
  'morak-tuned',
  'batchdvfs-tuned',
  'directcap-tuned',
  'powercap-tuned',
  'equal-split',
  'limit-agent',
  'morak',
  'batchdvfs',
  'batchdvfs-original',
  'directcap',
  'powercap',
  'static-best',
] as const

/** In which order jobs are served. */
export const policyNames = ['fifo', 'srtf', 'las', 'ftf', 'drf', 'tetris'] as const
export type PolicyName = (typeof policyNames)[number]

/** How CPU cores and memory are given out beside the GPUs. */
export const mechanismNames = ['fair', 'greedy', 'tune', 'optimal'] as const
export type MechanismName = (typeof mechanismNames)[number]

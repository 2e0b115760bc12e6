import type { DetectedGpu } from './detect-gpus.js'

/**
 * Returns the boards that `CUDA_VISIBLE_DEVICES` leaves to this process. Cluster schedulers set this variable to assign
 * the boards of a node to jobs.
 *
 * @param visible value of the variable: comma-separated indices and UUIDs (or UUID prefixes); undefined leaves all
 *   boards
 */
export function visibleGpus(gpus: readonly DetectedGpu[], visible: string | undefined): readonly DetectedGpu[] {
  if (visible === undefined || visible.trim() === '') return gpus
  const words = visible.split(',').map((word) => word.trim())
  return gpus.filter(({ index, uuid }) =>
    words.some((word) => word === String(index) || (word.startsWith('GPU-') && uuid.startsWith(word))),
  )
}

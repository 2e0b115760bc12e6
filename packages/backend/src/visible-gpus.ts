import type { DetectedGpu } from './detect-gpus.js'

/**
 * The boards that `CUDA_VISIBLE_DEVICES` leaves to this process: that is how a cluster says which boards of a node belong to a job.
 *
 * @param visible indices and UUIDs (or their beginnings) with commas; undefined leaves all of them
 */
export function visibleGpus(gpus: readonly DetectedGpu[], visible: string | undefined): readonly DetectedGpu[] {
  if (visible === undefined || visible.trim() === '') return gpus
  const words = visible.split(',').map((word) => word.trim())
  return gpus.filter(({ index, uuid }) =>
    words.some((word) => word === String(index) || (word.startsWith('GPU-') && uuid.startsWith(word))),
  )
}

import type { DetectedGpu } from './detect-gpus.js'

/**
 * Boards that `CUDA_VISIBLE_DEVICES` leaves to this process, with which a cluster assigns a node's boards to jobs.
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

import { SeededRandom } from '@pctodl/numerics'
import type { Cluster, Job } from '../src/index.js'
import { exampleProfiles, type JobProfile } from '../src/job-profile.js'

export interface PlacementInstance {
  readonly cluster: Cluster
  readonly jobs: readonly Job[]
  readonly profiles: readonly JobProfile[]
}

/** Jobs that all fit on one to four servers of eight GPUs, drawn by seed: of either set of models, of one or of many sizes, full or not. */
export function placementInstance(seed: number, published: readonly JobProfile[]): PlacementInstance {
  const random = new SeededRandom(seed)
  const profiles = seed % 2 === 0 ? exampleProfiles : published
  const count = 1 + Math.floor(random.uniform() * 4)
  const sizes = seed % 5 === 0 ? [1] : [1, 1, 1, 1, 1, 1, 1, 2, 4, 4, 8]
  const keepFree = seed % 3 === 0 ? 0.3 : 0
  const jobs: Job[] = []
  for (let free = count * 8; free > count * 8 * keepFree; ) {
    const gpus = Math.min(free, sizes[Math.floor(random.uniform() * sizes.length)]!)
    const { model } = profiles[Math.floor(random.uniform() * profiles.length)]!
    jobs.push({ id: jobs.length, model, gpus, arrivalS: 0, iterations: 1000 })
    free -= gpus
  }
  return { cluster: { servers: [{ count, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }] }, jobs, profiles }
}

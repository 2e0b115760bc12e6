import type { EngineJob } from './engine-job.js'
import type { PolicyName } from './scheduling-options.js'

/** Ratio of waiting to running time at which a job's attained service is forgiven. Tiresias' STARVELIMIT. */
const PROMOTE_AFTER = 8

/**
 * Returns the unfinished jobs in the order in which a policy serves them.
 *
 * - FIFO: by arrival. SRTF: least remaining work. LAS: least GPU time attained.
 * - FTF: largest finish-time ratio rho = (age + remaining work) / work first (Themis, NSDI '20), with the work at the
 * GPU-proportional share. The published simulator serves the smallest first.
 * - DRF: smallest dominant share, integrated over time. Shares are reassigned every round, so fairness requires
 * counting the shares that a job has held. The published simulator sorts by the demand, which never changes.
 * - Tetris: smallest (remaining work x sum of demanded shares).
 *
 * LAS and DRF can starve a job that has already received more service than others will ever need. So a job that has
 * waited `PROMOTE_AFTER` times as long as it has run starts again at zero (Tiresias, NSDI '19). It then runs at least a
 * ninth of its time.
 *
 * Work is in seconds: for SRTF and Tetris at the latest speed of the job (`iterationS`), for FTF alone with the
 * GPU-proportional share (`fairIterationS`). Ties go to the earlier submission.
 */
export function serviceOrder(policy: PolicyName, jobs: readonly EngineJob[], nowS: number): EngineJob[] {
  const unfinished = jobs.filter(({ state }) => state !== 'finished')
  for (const job of unfinished) {
    if (job.state === 'running') job.count(nowS)
    job.key = keyOf(policy, job, nowS)
  }
  return unfinished.sort(inOrder)
}

function keyOf(policy: PolicyName, job: EngineJob, nowS: number): number {
  switch (policy) {
    case 'fifo':
      return job.index
    case 'srtf':
      return job.remaining * job.iterationS
    case 'las':
      return serviceGpuS(job, nowS)
    case 'ftf':
      return (
        -(nowS - job.job.arrivalS + job.remaining * job.kind.fairIterationS) /
        (job.job.iterations * job.kind.fairIterationS)
      )
    case 'drf':
      return (serviceGpuS(job, nowS) / job.gpus) * job.kind.dominantShare
    case 'tetris':
      return job.remaining * job.iterationS * job.kind.summedShare
  }
}

/** Compares two jobs whose keys were computed at the same time. */
export function inOrder(a: EngineJob, b: EngineJob): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : a.index - b.index
}

/** Returns the attained service that counts, GPU-seconds. It restarts at zero after a long wait. */
function serviceGpuS(job: EngineJob, nowS: number): number {
  const service = job.attainedGpuS - job.forgivenGpuS
  if (job.state === 'running' || nowS - job.lastRunS < (PROMOTE_AFTER * service) / job.gpus) return service
  job.forgivenGpuS = job.attainedGpuS
  return 0
}

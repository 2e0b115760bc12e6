import type { PolicyName } from '../engine/scheduling-options.js'
import type { PublishedJob } from './published-job.js'

export interface KeyContext {
  readonly policy: PolicyName
  readonly nowS: number
  /** FAIR never applies a speedup. */
  readonly fair: boolean
  /** Capacity of the whole cluster: GPU, CPU, memory. */
  readonly totals: readonly [number, number, number]
  /** Upstream serves the least wronged job first; `false` turns that round. */
  readonly ftfAscending: boolean
}

const STARVED_AFTER_S = 1000 * 3600

/** Sort in place, stable, by upstream's keys (ascending), then by arrival. */
export function sortByPublishedPolicy(jobs: PublishedJob[], context: KeyContext): void {
  const keys = new Map<PublishedJob, number>()
  for (const job of jobs) keys.set(job, keyOf(job, context))
  const { policy, nowS } = context
  const starved = (job: PublishedJob) => (policy !== 'fifo' && nowS - job.lastRunS > STARVED_AFTER_S ? 0 : 1)
  jobs.sort((a, b) => starved(a) - starved(b) || keys.get(a)! - keys.get(b)! || a.job.arrivalS - b.job.arrivalS)
}

function keyOf(job: PublishedJob, { policy, nowS, fair, totals, ftfAscending }: KeyContext): number {
  const remainingS = () => {
    const seconds = job.iterationS * (job.job.iterations - job.executed)
    // The speedup left by the previous round: TUNE may have set it to 1.
    return fair ? seconds : seconds / job.speedup
  }
  const [gpu, cpu, memory] = job.demand
  switch (policy) {
    case 'fifo':
      return 0
    case 'srtf':
      return remainingS()
    case 'las':
      return job.attainedS * job.job.gpus
    case 'ftf': {
      const rho = (nowS - job.job.arrivalS + remainingS()) / (job.iterationS * job.job.iterations)
      return ftfAscending ? rho : -rho
    }
    case 'drf':
      return Math.max(gpu / totals[0], cpu / totals[1], memory / totals[2])
    case 'tetris':
      return remainingS() * (gpu / totals[0] + cpu / totals[1] + memory / totals[2])
  }
}

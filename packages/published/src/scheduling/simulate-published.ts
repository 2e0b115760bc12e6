import { InvalidInputError, PctodlError } from '@pctodl/platform'
import {
  type Cluster,
  type Job,
  type Mechanism,
  type Model,
  onlyServerKind,
  type Policy,
  type PublishedJob,
  publishedJobs,
  sortByPublishedPolicy,
} from './published-job.js'
import { PublishedPlacement, tunePublishedJob } from './published-placement.js'

export interface PublishedOptions {
  readonly cluster: Cluster
  readonly jobs: readonly Job[]
  readonly profiles: readonly Model[]
  readonly policy: Policy
  /**
   * How resources are divided among jobs. The study's OPT is not offered: its result depends on which of several equal
   * optima the solver returns.
   */
  readonly mechanism: Mechanism
  /**
   * Whether the first round begins at 1 s, for a trace whose jobs all arrive at the start, as with the Python code's
   * `--static`. Default false.
   */
  readonly static?: boolean
  /** Length of a round and of every lease, s. Default 300. */
  readonly roundS?: number
  /**
   * Defects of the Python code to correct, so that the effect of each can be measured. Default: none.
   * `ftfLargestFirst`: FTF serves the most delayed job first. `runAllJobs`: the simulation goes on after a round
   * without a job. `spreadPenalty`: factor above 1 by which a job on several servers is slower; the Python code divides
   * the job's time by its penalty, which makes it faster.
   */
  readonly corrections?: {
    readonly ftfLargestFirst?: boolean
    readonly runAllJobs?: boolean
    readonly spreadPenalty?: number
  }
  /** Called after each round's jobs are placed. */
  readonly onRound?: (round: PublishedRound) => void
}

export interface PublishedRound {
  readonly timeS: number
  readonly order: readonly PublishedJob[]
  readonly running: readonly PublishedJob[]
}

export interface PublishedJobResult {
  readonly job: Job
  readonly finishS: number
  readonly completionS: number
  readonly attainedS: number
}

export interface PublishedResult {
  /** Finished jobs in the order of the trace. Jobs that the Python code never finishes are absent. */
  readonly finished: readonly PublishedJobResult[]
  /** Number of rounds, including the last one, which has no job. */
  readonly rounds: number
  /** Mean share of each resource of the cluster that jobs hold, over the rounds with a running job, 0..1. */
  readonly meanAllocatedShare: { readonly gpu: number; readonly cpu: number; readonly memory: number }
}

/**
 * Reproduces the published replay simulator job by job: its rounds, its first-fit placement in the order of GPU
 * numbers, its progress in whole iterations, and its order of floating-point operations. It reproduces every result,
 * including wrong ones. For correct results use `simulate` of `@pctodl/resource-sensitivity`.
 *
 * @throws UnknownNameError, InvalidInputError
 * @throws PctodlError `HETEROGENEOUS_CLUSTER`, `IMPOSSIBLE_JOB`, `REFERENCE_ABORTED`
 */
export function simulatePublished(options: PublishedOptions): PublishedResult {
  const { policy, mechanism, roundS = 300, corrections = {}, onRound } = options
  if (!(roundS > 0 && Number.isFinite(roundS))) throw new InvalidInputError('roundS', roundS, 'positive seconds')
  const kind = onlyServerKind(options.cluster)
  const all = publishedJobs(options.jobs, options.profiles, options.cluster)
  const arrivals = [...all].sort((a, b) => a.job.arrivalS - b.job.arrivalS)
  const placement = new PublishedPlacement(kind)
  const fair = mechanism === 'fair'
  const totals = [kind.count * kind.gpus, kind.count * kind.cpus, kind.count * kind.memoryGb] as const
  const finishS = new Map<PublishedJob, number>()
  const allocated = { gpu: 0, cpu: 0, memory: 0, rounds: 0 }

  const advance = (job: PublishedJob, speedup: number) => {
    let iterationS = job.iterationS
    if (job.servers.length > 1)
      iterationS =
        corrections.spreadPenalty === undefined
          ? iterationS / job.spreadPenalty
          : iterationS * corrections.spreadPenalty
    if (!fair) iterationS = iterationS / speedup
    job.executedBefore = job.executed
    job.executed = Math.min(job.executed + Math.floor(roundS / iterationS), job.job.iterations)
    job.attainedS += roundS
  }
  const undo = (job: PublishedJob) => {
    job.executed = job.executedBefore
    job.attainedS -= roundS
  }

  let runnable: PublishedJob[] = []
  let running: PublishedJob[] = []
  let next = 0
  let rounds = 0
  let nowS = options.static === true ? 1 : Math.ceil(arrivals[0]!.job.arrivalS / roundS) * roundS
  for (; ; nowS += roundS) {
    while (next < arrivals.length && arrivals[next]!.job.arrivalS <= nowS) runnable.push(arrivals[next++]!)
    const before = running.length
    for (const job of running) if (job.executed >= job.job.iterations) finishS.set(job, nowS)
    if (before > 0) runnable = runnable.filter((job) => !finishS.has(job))
    rounds++
    placement.clear()
    running = []
    if (runnable.length === 0) {
      if (next === arrivals.length || corrections.runAllJobs !== true) break
      continue
    }
    sortByPublishedPolicy(runnable, { policy, nowS, fair, totals, ftfAscending: corrections.ftfLargestFirst !== true })
    for (const job of runnable) job.speedup = job.originalSpeedup
    for (const job of candidates(runnable, policy, mechanism, placement.freeGpus)) {
      if (job.job.gpus > placement.freeGpus) continue
      if (mechanism === 'tune') {
        tunePublishedJob(job, placement, { advance, undo })
      } else {
        const vector = fair
          ? (placement.fair.map((share) => share * job.job.gpus) as unknown as typeof job.demand)
          : job.demand
        if (!placement.place(job, vector)) continue
        advance(job, job.speedup)
      }
      job.lastRunS = nowS
      running.push(job)
    }
    if (running.length === 0) {
      throw new PctodlError(
        'REFERENCE_ABORTED',
        `the Python code never ends here: no job of ${runnable.length} can be placed at ${nowS} s; the default mode cuts demands to what servers have`,
      )
    }
    const share = placement.allocatedShare()
    allocated.gpu += share.gpu
    allocated.cpu += share.cpu
    allocated.memory += share.memory
    allocated.rounds++
    onRound?.({ timeS: nowS, order: runnable, running })
  }
  const finished = all.flatMap((entry) => {
    const finish = finishS.get(entry)
    if (finish === undefined) return []
    const { job, attainedS } = entry
    return [{ job, finishS: finish, completionS: finish - job.arrivalS, attainedS }]
  })
  const mean = (sum: number) => (allocated.rounds === 0 ? 0 : sum / allocated.rounds)
  return {
    finished,
    rounds,
    meanAllocatedShare: { gpu: mean(allocated.gpu), cpu: mean(allocated.cpu), memory: mean(allocated.memory) },
  }
}

/**
 * Jobs to place in this round, in order. Unlike the other policies, LAS first drops the jobs that need more GPUs than
 * are still free; with TUNE it then places the jobs with the most GPUs first.
 */
function candidates(
  order: readonly PublishedJob[],
  policy: Policy,
  mechanism: Mechanism,
  freeGpus: number,
): readonly PublishedJob[] {
  if (policy !== 'las') return order
  let free = freeGpus
  const picked = order.filter(({ job }) => {
    if (job.gpus > free) return false
    free -= job.gpus
    return true
  })
  return mechanism === 'tune' ? picked.sort((a, b) => b.job.gpus - a.job.gpus) : picked
}

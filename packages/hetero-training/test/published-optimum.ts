import { publishedAllocation } from '@pctodl/published/training'
import { evaluatePlan, type TrainingJob, type TrainingPlan } from '../src/index.js'

/** What the published optimum takes under our model; null where the published search does not know the job. It knows no memory and no `maxShare`. */
export function publishedOptimum(job: TrainingJob): TrainingPlan | null {
  const profiles = job.gpus.map(({ profile }) => profile)
  const batches = profiles.map(({ rows }) => new Set(rows.map(({ batchSize }) => batchSize)).size)
  if (profiles.length !== 2 || job.globalBatch < 2 || Math.min(...batches) < 3) return null
  const { shares, powerLimitsW } = publishedAllocation(profiles, 'bruteForce', job.globalBatch)
  return evaluatePlan(
    job,
    shares.map((share, i) => ({ share, powerLimitW: powerLimitsW[i]! })),
  )
}

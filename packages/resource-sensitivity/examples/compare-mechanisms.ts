import { type Cluster, generateTrace, simulate, summarize } from '@pctodl/resource-sensitivity'
import { exampleProfiles } from '@pctodl/resource-sensitivity/job-profile'

/** How much sooner jobs are done when CPU and memory follow need instead of GPUs. */
export function compareMechanisms(cluster: Cluster, jobsPerHour: number): string {
  const jobs = generateTrace({ jobs: 500, jobsPerHour, profiles: exampleProfiles, seed: 1 })
  const meanHours = (mechanism: 'fair' | 'tune') => {
    const result = simulate({ cluster, jobs, profiles: exampleProfiles, policy: 'las', mechanism })
    return summarize(result).meanCompletionS / 3600
  }
  const [fair, tune] = [meanHours('fair'), meanHours('tune')]
  return `mean completion ${fair.toFixed(1)} h with equal shares, ${tune.toFixed(1)} h by need: ${(fair / tune).toFixed(2)}x`
}

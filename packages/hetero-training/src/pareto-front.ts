import { fastestOf, minEnergyOf, planOf } from './find-plan.js'
import { assertInput } from './input-checks.js'
import { DeadlineSearch, SAME_TIME, type Split } from './search/best-deadline.js'
import { prepareJob, type TrainingJob } from './training-job.js'
import type { TrainingPlan } from './training-plan.js'

/** Plans of which none is both slower and higher in energy than another, the fastest first. */
export interface ParetoFront {
  readonly plans: readonly TrainingPlan[]
  /** The plan farthest from the line between the ends; after it, more time saves little energy. */
  readonly knee: TrainingPlan
}

/**
 * Computes the time-energy front of a job. Each plan is exact: no other plan takes less energy in the same time or
 * less. The full front has too many plans to list (one per useful combination of shares and limits), so this returns
 * the plans at `points` evenly spaced times.
 *
 * @param points at least 2; default 60
 * @throws InvalidInputError for an invalid job, or if no split fits the GPUs
 */
export function paretoFront(job: TrainingJob, points = 60): ParetoFront {
  assertInput(Number.isInteger(points) && points >= 2, 'points', points, 'an integer of at least 2')
  const prepared = prepareJob(job)
  const search = new DeadlineSearch(prepared.options, job.globalBatch)
  const minEnergy = minEnergyOf(prepared)
  const fastest = search.cheapest(fastestOf(prepared))
  const thriftiest = search.cheapest(minEnergy)
  const expected = 'GPUs whose shares can add up to the global batch'
  assertInput(fastest !== null && thriftiest !== null, 'gpus', `${job.globalBatch} samples`, expected)
  const plans: TrainingPlan[] = []
  let known: Split | null = null
  let beforeS = 0
  for (let i = 0; i < points; i++) {
    const deadlineS = (fastest.timeS + ((thriftiest.timeS - fastest.timeS) * i) / (points - 1)) * (1 + SAME_TIME)
    // A plan with a shorter step may have the lowest energy within a deadline, because GPUs that wait less draw less
    // idle energy.
    const split: Split = search.cheapest({ ...minEnergy, longestS: deadlineS }, beforeS, known)!
    if (known === null || split.energyJ < known.energyJ) plans.push(planOf(prepared, split))
    known = split
    beforeS = deadlineS
  }
  return { plans, knee: kneeOf(plans) }
}

function kneeOf(plans: readonly TrainingPlan[]): TrainingPlan {
  const first = plans[0]!
  const last = plans.at(-1)!
  const times = last.timeS - first.timeS || 1
  const energies = first.energyJ - last.energyJ || 1
  const distance = ({ timeS, energyJ }: TrainingPlan) =>
    (last.timeS - timeS) / times + (first.energyJ - energyJ) / energies
  return plans.reduce((knee, plan) => (distance(plan) > distance(knee) ? plan : knee), first)
}

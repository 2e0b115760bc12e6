import { sum } from '@pctodl/numerics'
import { PctodlError } from '@pctodl/platform'
import { assertInput, assertInteger } from '../input-checks.js'
import { candidateGroups, solveGroups } from './exact-groups.js'
import {
  type ColocationGroup,
  GroupJudge,
  type GroupLimits,
  type KeptShareSource,
  type Objective,
} from './group-judge.js'
import { searchGroups } from './search-groups.js'

export interface PoolOptions {
  readonly objective: Objective
  readonly limits?: GroupLimits
  readonly maxMembers: number
  /** Number of GPUs available. Default: the minimum, `ceil(jobs / maxMembers)`. */
  readonly gpus?: number
  /** Maximum number of candidate groups for the exact solver; above it, local search is used. Default 20 000. */
  readonly maxCandidates?: number
}

export interface Grouping {
  readonly groups: readonly ColocationGroup[]
  /** Sum over the groups. */
  readonly value: number
  /** `exact`: no grouping has a higher value. `search`: found by local search. */
  readonly method: 'exact' | 'search'
}

/**
 * Divides a pool of jobs into groups, one per GPU, to maximise the sum of the groups' values. The result is that of an
 * integer program over all groups that meet the limits or, with too many groups, of a local search.
 *
 * @param pool indices in `source.workloads`; a workload that runs n times occurs n times
 * @throws InvalidInputError for invalid options
 * @throws PctodlError `NO_GROUPING` if no grouping meets the limits (or, above `maxCandidates`, none was found)
 */
export async function groupPool(
  source: KeptShareSource,
  pool: readonly number[],
  { objective, limits = {}, maxMembers, gpus, maxCandidates = 20_000 }: PoolOptions,
): Promise<Grouping> {
  assertInput(pool.length > 0, 'pool', 'empty', 'at least one job')
  const areKnown = pool.every((place) => source.workloads[place] !== undefined)
  assertInput(areKnown, 'pool', pool, `places from 0 to ${source.workloads.length - 1}`)
  assertInteger('maxMembers', maxMembers)
  const least = Math.ceil(pool.length / maxMembers)
  const available = gpus ?? least
  const isEnough = Number.isInteger(available) && available >= least
  assertInput(isEnough, 'gpus', available, `at least ${least}: ${pool.length} jobs, ${maxMembers} on a GPU`)
  const judge = new GroupJudge(source, objective, limits)
  const candidates = candidateGroups(judge, pool, maxMembers, maxCandidates)
  const exact = candidates !== null
  const groups = exact
    ? await solveGroups(candidates, pool, available)
    : searchGroups(judge, pool, maxMembers, available)
  const remedies = 'allow more GPUs, more memory, more power, a lower kept share or slower batches'
  const none = `no grouping of ${pool.length} jobs on ${available} GPUs ${exact ? 'meets' : 'was found that meets'} the limits`
  if (!groups) throw new PctodlError('NO_GROUPING', `${none}; ${remedies}`)
  const named = groups.map((members) => judge.judge(members)!)
  return { groups: named, value: sum(named.map(({ value }) => value)), method: exact ? 'exact' : 'search' }
}

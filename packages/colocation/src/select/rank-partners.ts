import { mean, SeededRandom } from '@pctodl/numerics'
import { PctodlError } from '@pctodl/platform'
import type { Members } from '../colocation.js'
import { assertInput, assertInteger } from '../input-checks.js'
import { around, expectedValue, HALF_INTERVAL, type Interval, logSpread } from '../model/prediction.js'
import { multisetsOf } from './exact-groups.js'
import { type ColocationGroup, GroupJudge, type KeptShareSource } from './group-judge.js'
import type { PoolOptions } from './group-pool.js'

const DRAWS = 400
/** Maximum number of groups; more are an error. */
const MAX_GROUPS = 5_000

export interface RankedGroup extends ColocationGroup {
  /** 90 % interval of the value; null if unknown. */
  readonly interval: Interval | null
  /** Expected value of the best of all groups minus the expected value of this group, in the unit of the value. */
  readonly expectedRegret: number
}

/**
 * Rank co-runners for a workload: all its groups that meet the limits, the lowest expected regret first.
 *
 * @param target index of the workload in `source.workloads`
 * @param options.candidates indices of the others; the target's own index means a second process of it. Default: all
 * @param options.size members of a group. Default 2
 * @throws PctodlError `TOO_MANY_GROUPS` above 5 000 groups
 */
export function rankPartners(
  source: KeptShareSource,
  target: number,
  options: Pick<PoolOptions, 'objective' | 'limits'> & {
    readonly candidates?: readonly number[]
    readonly size?: number
  },
): RankedGroup[] {
  const places = source.workloads.map((_, place) => place)
  const { objective, limits = {}, candidates = places, size = 2 } = options
  const known = `a place from 0 to ${places.length - 1}`
  assertInput(places.includes(target), 'target', target, known)
  for (const place of candidates) assertInput(places.includes(place), 'candidates', place, known)
  assertInteger('size', size, 2)
  const asOften = new Map(candidates.map((place) => [place, size - 1]))
  const partners = multisetsOf(asOften, size - 1, size - 1, MAX_GROUPS)
  const problem = `${candidates.length} candidates in groups of ${size}: more than ${MAX_GROUPS} groups; name fewer candidates`
  if (partners === null) throw new PctodlError('TOO_MANY_GROUPS', problem)
  const judge = new GroupJudge(source, objective, limits)
  const judged = partners.flatMap((others) => {
    const members = [target, ...others]
    const group = judge.judge(members)
    if (!group) return []
    const spread = source.spreadOf?.(members, objective) ?? null
    return [{ group, spread, expected: expectedValue(group.value, spread ?? 0) }]
  })
  const best = expectedBest(judged.map(({ group, spread }) => ({ value: group.value, spread: spread ?? 0 })))
  return judged
    .sort((a, b) => b.expected - a.expected)
    .map(({ group, spread, expected }) => ({
      ...group,
      interval: spread === null ? null : around(group.value, HALF_INTERVAL * spread),
      expectedRegret: Math.max(0, best - expected),
    }))
}

/**
 * Returns the group to measure in order to decide between the first two of a ranking: the one with the larger
 * uncertainty. Null if the intervals of the two do not overlap or are unknown.
 */
export function undecided([first, second]: readonly RankedGroup[]): { readonly measure: Members } | null {
  if (!first?.interval || !second?.interval || second.interval.high <= first.interval.low) return null
  return { measure: (logSpread(second.interval) > logSpread(first.interval) ? second : first).members }
}

/** Mean of the maximum of independent log-normal values. */
function expectedBest(groups: readonly { readonly value: number; readonly spread: number }[]): number {
  const random = new SeededRandom(1)
  const draw = ({ value, spread }: (typeof groups)[number]) => value * Math.exp(spread * random.normal())
  return mean(Array.from({ length: DRAWS }, () => groups.reduce((most, group) => Math.max(most, draw(group)), 0)))
}

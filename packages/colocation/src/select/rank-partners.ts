import { InvalidInputError } from '@pctodl/platform'
import {
  type ColocationGroup,
  GroupJudge,
  type GroupLimits,
  type KeptShareSource,
  namedGroup,
  type Objective,
} from './group-judge.js'

/**
 * Who shall share with a workload: every group of it with one other, best first, without those that break a limit.
 *
 * @param target place of the workload in `source.workloads`
 * @param candidates places of the others; the target's own place means a second process of it. Default: all
 */
export function rankPartners(
  source: KeptShareSource,
  target: number,
  options: { readonly objective: Objective; readonly limits?: GroupLimits; readonly candidates?: readonly number[] },
): ColocationGroup[] {
  const places = source.workloads.map((_, place) => place)
  if (!places.includes(target)) throw new InvalidInputError('target', target, `a place from 0 to ${places.length - 1}`)
  const judge = new GroupJudge(source, options.objective, options.limits ?? {})
  return (options.candidates ?? places)
    .flatMap((other) => {
      const members = [target, other]
      const judged = judge.judge(members)
      return judged ? [namedGroup(judge, members, judged)] : []
    })
    .sort((a, b) => b.value - a.value)
}

import { SeededRandom, shuffled } from '@pctodl/numerics'
import { type Members, membersKey } from '../colocation.js'
import { assertInteger } from '../input-checks.js'
import type { SlowdownModel } from '../model/slowdown-model.js'
import { multisetsOf } from '../select/exact-groups.js'
import type { Workload } from '../workload.js'

/** All colocations with a number of members; a workload may occur more than once (combinations with repetition). */
export function allColocationsOf<W>(workloads: readonly W[], members: number): W[][] {
  assertInteger('members', members)
  const asOften = new Map(workloads.map((_, place) => [place, members]))
  return multisetsOf(asOften, members, members, Infinity)!.map((places) => places.map((place) => workloads[place]!))
}

/**
 * Selects a small set of colocations in which every workload occurs at least `times` times, if there are enough. The
 * colocations are visited in seeded random order. One is selected if a member has occurred fewer than `times` times so
 * far. Colocations of a workload with itself are skipped, as in the published study.
 */
export function occurrencePlan<W>(
  colocations: readonly (readonly W[])[],
  times: number,
  seed: number,
): (readonly W[])[] {
  assertInteger('times', times)
  const taken = new Map<W, number>()
  return shuffled(colocations, new SeededRandom(seed)).filter((members) => {
    const distinct = new Set(members)
    if (distinct.size === 1) return false
    if ([...distinct].every((member) => (taken.get(member) ?? 0) >= times)) return false
    for (const member of distinct) taken.set(member, (taken.get(member) ?? 0) + 1)
    return true
  })
}

/**
 * Sorts colocations by how much their measurement would improve the model: first those without an interval, then those
 * with the widest relative interval. To use it, measure the first few, refit and repeat.
 *
 * @param measured known colocations, which are left out
 */
export function mostInformative(
  model: SlowdownModel,
  candidates: readonly Members[],
  measured: readonly Members[] = [],
): { readonly members: Members; readonly relativeWidth: number }[] {
  const known = new Set(measured.map(membersKey))
  return candidates
    .filter((members) => !known.has(membersKey(members)))
    .map((members: readonly Workload[]) => {
      const interval = model.predict(members).throughputSumInterval
      return { members, relativeWidth: interval ? Math.log(interval.high / interval.low) : Infinity }
    })
    .sort((a, b) => (a.relativeWidth === b.relativeWidth ? 0 : b.relativeWidth - a.relativeWidth))
}

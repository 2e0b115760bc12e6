import { SeededRandom, shuffled } from '@pctodl/numerics'
import { assertInteger } from '../input-checks.js'
import { multisetsOf } from '../select/exact-groups.js'

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

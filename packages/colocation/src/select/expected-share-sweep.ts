import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import type { SharePoint, ShareSweep } from '../tables/share-sweep-table.js'

/**
 * Expected throughputs of two workloads at unmeasured splits. With p and 100 - p percent, each is assumed to reach its
 * solo throughput at that share. Disjoint shares isolate well: over the published sweep of a V100, the measured median
 * is 2 to 5 % lower.
 *
 * @param soloSweep solo throughput by share, for each workload
 * @throws UnknownNameError for a workload without a sweep; InvalidInputError where no two shares add up to 100
 */
export function expectedShareSweep(
  members: readonly [string, string],
  soloSweep: ReadonlyMap<string, readonly SharePoint[]>,
): ShareSweep {
  const [first, second] = members.map((name) => {
    const points = soloSweep.get(name)
    if (!points) throw new UnknownNameError('workload of the solo sweep', name, [...soloSweep.keys()])
    return points
  }) as [readonly SharePoint[], readonly SharePoint[]]
  const points = first.flatMap((a) => {
    const share = a.mpsPercents[0]!
    const b = second.find(({ mpsPercents }) => mpsPercents[0] === 100 - share)
    return b ? [{ mpsPercents: [share, 100 - share], throughputs: [a.throughputs[0]!, b.throughputs[0]!] }] : []
  })
  if (points.length === 0) throw new InvalidInputError('soloSweep', members, 'shares of both that add up to 100')
  return { members, points }
}

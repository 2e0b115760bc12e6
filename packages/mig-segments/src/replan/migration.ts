import { placementConflict } from '@pctodl/mig-deploy'
import type { PlannedSegment } from '../segment-plan.js'

/** One step from a map to the next. */
export interface MigrationStep {
  /** `restart`: the instance stays, its processes start again with another batch size or another number of them. */
  readonly kind: 'create' | 'restart' | 'remove'
  /** Index over the whole cluster. */
  readonly gpu: number
  /** The segment as it is after the step; for `remove`, as it was. */
  readonly segment: PlannedSegment
  /** Set where the service falls below what it must serve meanwhile, items/s. */
  readonly shortfall?: { readonly capacity: number; readonly needed: number }
}

/** A segment with the GPU that it stands on. */
export interface Located {
  readonly gpu: number
  readonly segment: PlannedSegment
}

export interface Changes {
  readonly kept: readonly Located[]
  readonly restarted: readonly { readonly before: Located; readonly after: Located }[]
  readonly created: readonly Located[]
  readonly removed: readonly Located[]
}

/**
 * Order changes so that services keep what they must serve: create where there is room, remove what is no longer needed, and
 * again. Only where segments stand in each other's way does one go before its successor is there; that step says by how much
 * its service falls short.
 *
 * @param needed items/s that each service must keep meanwhile
 */
export function migrationOrder(changes: Changes, needed: ReadonlyMap<string, number>): MigrationStep[] {
  const present = new Map<number, PlannedSegment[]>()
  const capacity = new Map<string, number>()
  const add = ({ gpu, segment }: Located) => {
    present.set(gpu, [...(present.get(gpu) ?? []), segment])
    capacity.set(segment.model, (capacity.get(segment.model) ?? 0) + segment.throughput)
  }
  const take = ({ gpu, segment }: Located) => {
    present.set(
      gpu,
      present.get(gpu)!.filter((other) => other !== segment),
    )
    capacity.set(segment.model, capacity.get(segment.model)! - segment.throughput)
  }
  for (const located of [...changes.kept, ...changes.restarted.map(({ before }) => before), ...changes.removed])
    add(located)

  const steps: MigrationStep[] = []
  const toCreate = [...changes.created]
  const toRemove = [...changes.removed]
  const toRestart = [...changes.restarted]
  const shortfallOf = (model: string, lost: number) => {
    const left = capacity.get(model)! - lost
    const least = needed.get(model) ?? 0
    return left < least * (1 - 1e-9) ? { capacity: left, needed: least } : undefined
  }
  const createWhatFits = (): void => {
    for (const located of [...toCreate]) {
      if (placementConflict([...(present.get(located.gpu) ?? []), located.segment]) !== null) continue
      add(located)
      toCreate.splice(toCreate.indexOf(located), 1)
      steps.push({ kind: 'create', ...located })
    }
  }
  const remove = (located: Located): void => {
    const shortfall = shortfallOf(located.segment.model, located.segment.throughput)
    take(located)
    toRemove.splice(toRemove.indexOf(located), 1)
    steps.push({ kind: 'remove', ...located, ...(shortfall && { shortfall }) })
  }
  createWhatFits()
  while (toCreate.length > 0 && toRemove.length > 0) {
    const blocking = toRemove.filter(({ gpu }) => toCreate.some((located) => located.gpu === gpu))
    const harmless = blocking.filter(({ segment }) => !shortfallOf(segment.model, segment.throughput))
    if (harmless.length > 0)
      for (const located of harmless) {
        // Each may be harmless alone and not together.
        if (!shortfallOf(located.segment.model, located.segment.throughput)) remove(located)
      }
    else remove(leastHarmful(blocking.length > 0 ? blocking : toRemove, capacity, needed))
    createWhatFits()
  }
  for (const { before, after } of toRestart) {
    const shortfall = shortfallOf(before.segment.model, before.segment.throughput)
    take(before)
    add(after)
    steps.push({ kind: 'restart', ...after, ...(shortfall && { shortfall }) })
  }
  for (const located of [...toRemove]) remove(located)
  return steps
}

function leastHarmful(
  candidates: readonly Located[],
  capacity: ReadonlyMap<string, number>,
  needed: ReadonlyMap<string, number>,
): Located {
  const harm = ({ segment }: Located) => {
    const least = needed.get(segment.model) ?? 0
    return least === 0 ? 0 : (least - (capacity.get(segment.model)! - segment.throughput)) / least
  }
  return candidates.reduce((least, located) => (harm(located) < harm(least) ? located : least))
}

import type { MigSlot } from '@pctodl/platform'
import type { CheckedFleet } from '../fleet/check-fleet.js'
import { type FleetSegment, keepWatts } from '../fleet/place-fleet.js'
import type { MappedBoard } from '../map/fleet-map.js'

export interface FleetInstance extends Omit<MappedBoard, 'segments'> {
  readonly profile: string
  readonly start: number
  readonly segments: readonly FleetSegment[]
}

/** One step from a map of a fleet to the next. */
export interface FleetStep {
  /** `restart`: the instance stays and other processes start in it. */
  readonly kind: 'create' | 'restart' | 'remove'
  /** The instance after the step; for `remove`, before it. */
  readonly instance: FleetInstance
  /** Services whose capacity is below the rate that they need during the step, requests/s. */
  readonly shortfalls: readonly { readonly model: string; readonly capacity: number; readonly needed: number }[]
}

export interface FleetChanges {
  readonly kept: readonly FleetInstance[]
  readonly restarted: readonly { readonly before: FleetInstance; readonly after: FleetInstance }[]
  readonly created: readonly FleetInstance[]
  readonly removed: readonly FleetInstance[]
}

export interface Migration {
  readonly steps: readonly FleetStep[]
  /** Sum over all steps that take time (`create` and `restart`) of the rates that services lack, requests/s. */
  readonly lackingPerS: number
}

/**
 * Orders changes so that services keep the capacity that they need. First, instances that fit are created. Then
 * instances that block others are removed, beginning with those that services can do without. A board changes its clock
 * while it is empty. Power limits also apply during the change, unless the old map already exceeds them.
 *
 * @param needed requests/s that each service must be able to answer during the change
 */
export function fleetMigrationOrder(
  { kept, restarted, created, removed }: FleetChanges,
  fleet: CheckedFleet,
  needed: ReadonlyMap<string, number>,
): Migration {
  const present = new Set<FleetInstance>()
  const capacity = new Map<string, number>()
  const steps: FleetStep[] = []
  let lackingPerS = 0
  const change = (instance: FleetInstance, sign: 1 | -1): void => {
    if (sign === 1) present.add(instance)
    else present.delete(instance)
    for (const { model, ratePerS } of instance.segments) {
      capacity.set(model, (capacity.get(model) ?? 0) + sign * ratePerS)
    }
  }
  for (const instance of [...kept, ...restarted.map(({ before }) => before), ...removed]) change(instance, 1)
  /** Services that would lack capacity without this instance. */
  const shortfallsOf = ({ segments }: FleetInstance) =>
    segments.flatMap(({ model, ratePerS }) => {
      const left = (capacity.get(model) ?? 0) - ratePerS
      const least = needed.get(model) ?? 0
      return left < least * (1 - 1e-9) ? [{ model, capacity: Math.max(0, left), needed: least }] : []
    })
  const start = (kind: 'create' | 'restart', instance: FleetInstance, shortfalls: FleetStep['shortfalls']): void => {
    for (const [model, least] of needed) {
      const lacking = least - (capacity.get(model) ?? 0)
      if (lacking > 1e-9 * least) lackingPerS += lacking
    }
    change(instance, 1)
    steps.push({ kind, instance, shortfalls })
  }
  const toCreate = new Set(created)
  const toRemove = new Set(removed)
  const createWhatFits = (): void => {
    for (const instance of toCreate) {
      if ([...present].some((other) => exclude(instance, other, fleet))) continue
      if (!keepWatts(fleet, [...present, instance])) continue
      toCreate.delete(instance)
      start('create', instance, [])
    }
  }
  const harm = (instance: FleetInstance) =>
    Math.max(0, ...shortfallsOf(instance).map((each) => 1 - each.capacity / each.needed))
  const removeBestOf = (among: readonly FleetInstance[]): void => {
    const instance = among.reduce((a, b) => (harm(b) < harm(a) ? b : a))
    steps.push({ kind: 'remove', instance, shortfalls: shortfallsOf(instance) })
    change(instance, -1)
    toRemove.delete(instance)
  }
  createWhatFits()
  while (toCreate.size > 0 && toRemove.size > 0) {
    const blocking = [...toRemove].filter((old) => [...toCreate].some((instance) => exclude(instance, old, fleet)))
    removeBestOf(blocking.length > 0 ? blocking : [...toRemove])
    createWhatFits()
  }
  // Restarts that reduce power come first.
  const addedW = ({ before, after }: FleetChanges['restarted'][number]) => wattsOf(after) - wattsOf(before)
  for (const { before, after } of [...restarted].sort((a, b) => addedW(a) - addedW(b))) {
    const others = () => [...present].filter((instance) => instance !== before)
    while (toRemove.size > 0 && !keepWatts(fleet, [...others(), after])) removeBestOf([...toRemove])
    const shortfalls = shortfallsOf(before)
    change(before, -1)
    start('restart', after, shortfalls)
  }
  // There was not enough power for these until others had restarted with less.
  for (const instance of toCreate) start('create', instance, [])
  for (const instance of toRemove) removeBestOf([instance])
  return { steps, lackingPerS }
}

export function wattsOf({ segments }: FleetInstance): number {
  return segments.reduce((sum, { powerW = 0 }) => sum + powerW, 0)
}

/** Whether two instances cannot exist at the same time: on one board, slices overlap or clocks differ. */
function exclude(a: FleetInstance, b: FleetInstance, { groups }: CheckedFleet): boolean {
  if (a.gpu !== b.gpu || a.node !== b.node || a.index !== b.index) return false
  const { profiles } = groups.find(({ geometry }) => geometry.key === a.gpu)!.geometry
  const slot = ({ profile }: FleetInstance): MigSlot => profiles.find(({ name }) => name === profile)!
  const overlap = a.start < b.start + slot(b).memorySlices && b.start < a.start + slot(a).memorySlices
  return overlap || a.smClockMhz !== b.smClockMhz
}

/** Returns the map after each step of a change from the map `from`, for `deploy --through`, without empty boards. */
export function stepFleetMaps(from: readonly MappedBoard[], steps: readonly FleetStep[]): MappedBoard[][] {
  let boards = [...from]
  return steps.map(({ kind, instance }) => {
    const { profile: _, start, segments, ...place } = instance
    const at = boards.findIndex(({ gpu, node, index }) => {
      return gpu === place.gpu && node === place.node && index === place.index
    })
    const others = (boards[at]?.segments ?? []).filter((segment) => segment.start !== start)
    const present = kind === 'remove' ? others : [...others, ...segments].sort((a, b) => a.start - b.start)
    boards = at < 0 ? [...boards, { ...place, segments: present }] : boards.with(at, { ...place, segments: present })
    boards = boards.filter((each) => each.segments.length > 0)
    return boards
  })
}

import type { MappedBoard } from '@pctodl/mig-deploy'
import type { CheckedFleet } from '../fleet/check-fleet.js'
import type { FleetPlan } from '../fleet/fleet-plan.js'
import { type FleetBoard, type FleetSegment, instanceAt } from '../fleet/place-fleet.js'
import type { RunningBoard } from '../fleet/program.js'

/** The boards as they run; null where some instance misses its objective. */
export function standingBoards(
  fleet: CheckedFleet,
  current: readonly MappedBoard[],
  running: readonly RunningBoard[],
  models: readonly string[],
): FleetBoard[] | null {
  const boards: FleetBoard[] = []
  for (const [b, { lane, instances }] of running.entries()) {
    if (instances.length === 0) continue
    if (lane === undefined || instances.some(({ row }) => !row)) return null
    const segments = instances.flatMap(({ profile, start, row }) => instanceAt(row!, profile.name, start, models))
    boards.push(boardAt(fleet, lane, current[b]!, segments))
  }
  return boards
}

/** Whether boards cover all rates within the fleet's limits. */
export function serves(fleet: CheckedFleet, boards: readonly FleetBoard[], served: FleetPlan['served']): boolean {
  const within = (drawnW: number, most: number) => !(drawnW > most * (1 + 1e-9))
  const wattsOf = (of: readonly FleetBoard[]) => of.reduce((sum, { powerW }) => sum + powerW, 0)
  const covered = served.every(({ model, ratePerS }) => capacityOf(boards, model) >= ratePerS * (1 - 1e-9))
  return (
    covered &&
    within(wattsOf(boards), fleet.powerW) &&
    fleet.groups.every(({ boards: most, boardCapW, nodeCapW }, g) => {
      const own = boards.filter(({ group }) => group === g)
      const nodes = new Set(own.map(({ node }) => node))
      return (
        own.length <= most &&
        own.every(({ powerW }) => within(powerW, boardCapW)) &&
        [...nodes].every((n) => within(wattsOf(own.filter(({ node }) => node === n)), nodeCapW))
      )
    })
  )
}

/** Whether the boards of each node meet its power limit. */
export function withinNodes({ groups }: CheckedFleet, boards: readonly FleetBoard[]): boolean {
  return groups.every(({ nodeCapW }, g) => {
    if (!Number.isFinite(nodeCapW)) return true
    const own = boards.filter(({ group }) => group === g)
    return own.every(({ node }) => {
      const drawnW = own.reduce((sum, each) => (each.node === node ? sum + each.powerW : sum), 0)
      return drawnW <= nodeCapW * (1 + 1e-9)
    })
  })
}

/** Rate of a model that the boards answer, requests/s. */
export function capacityOf(boards: readonly FleetBoard[], model: string): number {
  const own = boards.flatMap(({ segments }) => segments).filter((segment) => segment.model === model)
  return own.reduce((sum, { ratePerS }) => sum + ratePerS, 0)
}

/** A board of a lane with these segments. */
export function boardAt(
  { groups, lanes }: CheckedFleet,
  lane: number,
  { node, index }: Pick<MappedBoard, 'node' | 'index'>,
  segments: FleetSegment[],
): FleetBoard {
  const { group, smClockMhz, idleW } = lanes[lane]!
  return {
    ...{ group, gpu: groups[group]!.geometry.key, node, index },
    ...(smClockMhz !== undefined && { smClockMhz }),
    segments: segments.sort((a, b) => a.start - b.start),
    powerW: segments.reduce((sum, { powerW = Number.NaN }) => sum + powerW, idleW),
  }
}

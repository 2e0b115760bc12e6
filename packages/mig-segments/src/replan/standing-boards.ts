import type { CheckedFleet } from '../fleet/check-fleet.js'
import { answeredBy } from '../fleet/fleet-plan.js'
import { boardAt, type FleetBoard, instanceAt } from '../fleet/place-fleet.js'
import type { RunningBoard } from '../fleet/program.js'
import type { ServiceObjective } from '../profile.js'
import { keepWatts } from './fleet-migration.js'

/** Returns the boards as they run now; null if an instance misses its objective. */
export function standingBoards(fleet: CheckedFleet, running: readonly RunningBoard[]): FleetBoard[] | null {
  const boards: FleetBoard[] = []
  for (const board of running) {
    const { lane, instances } = board
    if (instances.length === 0) continue
    if (lane === undefined || instances.some(({ row }) => !row)) return null
    const segments = instances.flatMap(({ profile, start, row }) => instanceAt(row!, profile.name, start))
    boards.push(boardAt(fleet, lane, board, segments))
  }
  return boards
}

/** Whether boards serve all rates within the fleet's limits. */
export function serves(
  fleet: CheckedFleet,
  boards: readonly FleetBoard[],
  objectives: readonly ServiceObjective[],
): boolean {
  const answered = answeredBy(boards)
  return (
    objectives.every(({ model, ratePerS }) => (answered.get(model) ?? 0) >= ratePerS * (1 - 1e-9)) &&
    fleet.groups.every(({ boards: most }, g) => boards.filter(({ group }) => group === g).length <= most) &&
    keepWatts(fleet, boards)
  )
}

import type { MigSlot } from '@pctodl/platform'
import { type LinearConstraint, loadSolver, type Term, type Variable } from '@pctodl/solver'
import type { BoardPattern } from '../fleet/board-patterns.js'
import type { CheckedFleet } from '../fleet/check-fleet.js'
import type { FleetRow } from '../fleet/fleet-rows.js'
import type { ServiceObjective } from '../profile.js'

/** An instance that runs now. */
export interface RunningInstance {
  readonly profile: MigSlot
  readonly start: number
  /** How it may run on; absent where it does not keep its objectives, or nobody measured it. */
  readonly row?: FleetRow
}

/** A board that is in use now. */
export interface RunningBoard {
  /** Absent where nothing was measured at its clock: all goes. */
  readonly lane?: number
  readonly group: number
  readonly node: number
  readonly instances: readonly RunningInstance[]
}

export interface ReplanProgram {
  readonly fleet: CheckedFleet
  readonly objectives: readonly ServiceObjective[]
  readonly rows: readonly FleetRow[]
  /** By lane. */
  readonly patterns: readonly (readonly BoardPattern[])[]
  readonly running: readonly RunningBoard[]
  /** Most that the boards may cost. */
  readonly mostCost: number
  readonly mostIterations: number
  /** As of `FleetProgram`. */
  readonly room: number
}

export interface ReplanCounts {
  /** By running board, then by its instances. */
  readonly kept: readonly (readonly boolean[])[]
  /** By running board: places of new instances (by profile), and rows for them. */
  readonly added: readonly { readonly places: { profile: number; start: number }[]; readonly rows: FleetRow[] }[]
  /** Instances of each row on other boards, and those boards, by lane and pattern. */
  readonly instances: Int32Array
  readonly boards: readonly Int32Array[]
  /** No plan that costs as little creates fewer instances. */
  readonly leastCreated: number
}

/**
 * The integer program of a change: what stays where it is, what is created in the room beside it, and what on other boards; the fewest are created,
 * and of such plans one is taken that costs least. As in a fresh plan each rate is covered and all limits are kept, by boards in use and the nodes
 * that they are on each for itself; whether nodes have watts left for other boards is seen when these are placed.
 *
 * @returns null where none was found in the work allowed, or there is none
 */
export async function solveReplan(program: ReplanProgram): Promise<ReplanCounts | null> {
  const { fleet, objectives, rows, patterns, running, mostCost, mostIterations, room } = program
  const { groups, lanes } = fleet
  const solver = await loadSolver()
  const variables: Variable[] = []
  const constraints: LinearConstraint[] = []
  const cheapest = Math.min(...groups.map(({ price }) => price))
  // All boards together weigh less than half an instance.
  const weight = 0.4 / Math.max(1, mostCost / cheapest)
  const whole = (objective: number, atMost?: number): number =>
    variables.push({ objective, whole: true, ...(atMost !== undefined && { atMost }) }) - 1
  const covers: Term[][] = objectives.map(() => [])
  const watts: Term[] = []
  const cost: Term[] = []
  const boardsOf: Term[][] = groups.map(() => [])
  const drawnBy: Term[][] = groups.map(() => [])
  const nodes = new Map<string, { terms: Term[]; nodeCapW: number }>()
  const serve = (variable: number, { parts, powerW = 0 }: FleetRow): void => {
    for (const { service, ratePerS } of parts) {
      covers[service]!.push([variable, ratePerS / objectives[service]!.ratePerS])
    }
    if (powerW > 0) watts.push([variable, powerW])
  }
  const price = (group: number) => groups[group]!.price / cheapest

  const stand = running.map(({ lane, group, node, instances }) => {
    if (lane === undefined) return null
    const { geometry, boardCapW } = groups[group]!
    const { idleW } = lanes[lane]!
    const used = whole(weight * price(group), 1)
    cost.push([used, price(group)])
    boardsOf[group]!.push([used, 1])
    if (idleW > 0) watts.push([used, idleW])
    const own: Term[] = []
    const slices: Term[][] = Array.from({ length: geometry.memorySlices }, () => [[used, -1]])
    const compute: Term[] = [[used, -geometry.computeSlices]]
    const take = (variable: number, { computeSlices, memorySlices }: MigSlot, start: number): void => {
      compute.push([variable, computeSlices])
      for (let slice = start; slice < start + memorySlices; slice++) slices[slice]!.push([variable, 1])
    }
    const kept = instances.map(({ profile, start, row }) => {
      if (!row) return null
      const stays = whole(0, 1)
      take(stays, profile, start)
      serve(stays, row)
      own.push([stays, row.powerW ?? 0])
      return stays
    })
    const places = geometry.profiles.flatMap((slot, profile) => {
      const of = rows.filter((row) => row.lane === lane && row.profile === profile)
      if (of.length === 0) return []
      const at = slot.placements.map((start) => {
        // The processes alone start again where the instance is there already.
        const restart = instances.some((each) => each.profile === slot && each.start === start)
        const placed = whole(restart ? 0.5 : 1, 1)
        take(placed, slot, start)
        return { profile, start, placed }
      })
      const put = of.map((row) => {
        const count = whole(0)
        serve(count, row)
        own.push([count, row.powerW ?? 0])
        return { row, count }
      })
      const terms = [...put.map(({ count }): Term => [count, 1]), ...at.map(({ placed }): Term => [placed, -1])]
      constraints.push({ terms, atLeast: 0, atMost: 0 })
      return [{ at, put }]
    })
    for (const terms of [...slices, compute]) constraints.push({ terms, atMost: 0 })
    if (Number.isFinite(boardCapW)) constraints.push({ terms: [...own, [used, idleW - boardCapW]], atMost: 0 })
    const { terms } = nodes.get(`${group},${node}`) ?? { terms: [] as Term[] }
    terms.push(...own, [used, idleW])
    nodes.set(`${group},${node}`, { terms, nodeCapW: groups[group]!.nodeCapW })
    drawnBy[group]!.push(...own, [used, idleW])
    return { kept, places }
  })

  const instanceAt = rows.map((row) => {
    const count = whole(1)
    serve(count, row)
    return count
  })
  const boardAt = lanes.map(({ group, idleW }, l) =>
    patterns[l]!.map(() => {
      const board = whole(weight * price(group))
      cost.push([board, price(group)])
      boardsOf[group]!.push([board, 1])
      if (idleW > 0) watts.push([board, idleW])
      drawnBy[group]!.push([board, idleW])
      return board
    }),
  )
  lanes.forEach(({ group, idleW }, l) => {
    const { geometry, boardCapW } = groups[group]!
    const inLane = rows.flatMap((row, r) => (row.lane === l ? [{ row, variable: instanceAt[r]! }] : []))
    geometry.profiles.forEach((_, p) => {
      const used = inLane.filter(({ row }) => row.profile === p).map(({ variable }): Term => [variable, 1])
      const held = patterns[l]!.flatMap(({ counts }, k): Term[] =>
        counts[p]! > 0 ? [[boardAt[l]![k]!, -counts[p]!]] : [],
      )
      if (used.length > 0) constraints.push({ terms: [...used, ...held], atMost: 0 })
    })
    const drawn = inLane.map(({ row, variable }): Term => [variable, row.powerW ?? 0])
    drawnBy[group]!.push(...drawn)
    if (Number.isFinite(boardCapW)) {
      const each = room * (boardCapW - idleW)
      constraints.push({ terms: [...drawn, ...boardAt[l]!.map((board): Term => [board, -each])], atMost: 0 })
    }
  })
  for (const terms of covers) constraints.push({ terms, atLeast: 1 })
  for (const { terms, nodeCapW } of nodes.values()) {
    if (Number.isFinite(nodeCapW)) constraints.push({ terms, atMost: nodeCapW })
  }
  groups.forEach(({ boards, boardsPerNode, nodeCapW }, g) => {
    if (!Number.isFinite(boards)) return
    constraints.push({ terms: boardsOf[g]!, atMost: boards })
    if (!Number.isFinite(nodeCapW)) return
    constraints.push({ terms: drawnBy[g]!, atMost: room * nodeCapW * Math.ceil(boards / boardsPerNode) })
  })
  if (Number.isFinite(fleet.powerW)) constraints.push({ terms: watts, atMost: fleet.powerW })
  constraints.push({ terms: cost, atMost: (mostCost / cheapest) * (1 + 1e-9) })

  const { values, bound } = solver.solve(
    { sense: 'minimize', variables, constraints },
    { mostIterations, tolerance: 1e-9, absoluteGap: 1e-3 },
  )
  if (values === null) return null
  const at = (variable: number) => Math.round(values[variable]!)
  return {
    kept: running.map(({ instances }, b) =>
      instances.map((_, i) => {
        const stays = stand[b]?.kept[i]
        return stays !== undefined && stays !== null && at(stays) === 1
      }),
    ),
    added: running.map((_, b) => {
      const places = stand[b]?.places ?? []
      return {
        places: places.flatMap((each) => each.at.filter(({ placed }) => at(placed) === 1)),
        rows: places.flatMap(({ put }) => put.flatMap(({ row, count }) => new Array<FleetRow>(at(count)).fill(row))),
      }
    }),
    instances: Int32Array.from(instanceAt, at),
    boards: boardAt.map((of) => Int32Array.from(of, at)),
    leastCreated: Math.max(0, Math.ceil(2 * (bound - 0.41)) / 2),
  }
}

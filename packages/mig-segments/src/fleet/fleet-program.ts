import { type LinearConstraint, loadSolver, type Term } from '@pctodl/solver'
import type { ServiceObjective } from '../profile.js'
import type { BoardPattern } from './board-patterns.js'
import type { CheckedFleet } from './check-fleet.js'
import type { FleetRow } from './fleet-rows.js'

export interface FleetProgram {
  readonly fleet: CheckedFleet
  readonly objectives: readonly ServiceObjective[]
  readonly rows: readonly FleetRow[]
  /** By lane. */
  readonly patterns: readonly (readonly BoardPattern[])[]
  /** Most simplex iterations. */
  readonly mostIterations: number
  /** Share of the watts above idle boards that limits on boards and nodes leave, 0..1: room for what does not pack evenly. */
  readonly room: number
  /** Least watts at no more than this cost, or least cost. */
  readonly leastWattsAt?: number
}

export interface FleetCounts {
  /** Instances of each row. */
  readonly instances: Int32Array
  /** Boards by lane and pattern. */
  readonly boards: readonly Int32Array[]
  /** Of the objective. */
  readonly value: number
  /** No plan has less. */
  readonly bound: number
}

/** Tighter than the solver's own, so that no rate is short by more than rounding. */
const FEASIBILITY = 1e-9

/**
 * Integers: instances of each row, boards of each lane and pattern, nodes of each group. Each rate is covered; of each profile there are at most as
 * many instances in a lane as the patterns of its boards hold. Limits on watts are summed over the boards of a group, which no plan can exceed;
 * that each single board keeps its own is seen when they are packed.
 *
 * @returns null where no fleet keeps these limits; `instances` null where the work ran out first
 */
export async function solveFleet(
  program: FleetProgram,
): Promise<FleetCounts | 'infeasible' | { readonly bound: number }> {
  const { fleet, objectives, rows, patterns, mostIterations, room, leastWattsAt } = program
  const solver = await loadSolver()
  const { groups, lanes } = fleet
  const boardAt: number[] = []
  let variables = rows.length
  for (const of of patterns) {
    boardAt.push(variables)
    variables += of.length
  }
  const nodeAt = variables
  const boardsOf = (l: number, coefficient: number): Term[] =>
    patterns[l]!.map((_, k) => [boardAt[l]! + k, coefficient])
  const watts = (l: number): Term[] =>
    rows.flatMap(({ lane, powerW = 0 }, r): Term[] => (lane === l && powerW > 0 ? [[r, powerW]] : []))
  const covers: Term[][] = objectives.map(() => [])
  rows.forEach(({ parts }, r) => {
    for (const { service, ratePerS } of parts) covers[service]!.push([r, ratePerS / objectives[service]!.ratePerS])
  })
  const constraints: LinearConstraint[] = covers.map((terms) => ({ terms, atLeast: 1 }))
  lanes.forEach(({ group: g, idleW }, l) => {
    const group = groups[g]!
    group.geometry.profiles.forEach((_, p) => {
      const used = rows.flatMap((row, r): Term[] => (row.lane === l && row.profile === p ? [[r, 1]] : []))
      if (used.length === 0) return
      const held = patterns[l]!.flatMap(({ counts }, k): Term[] =>
        counts[p]! > 0 ? [[boardAt[l]! + k, -counts[p]!]] : [],
      )
      constraints.push({ terms: [...used, ...held], atMost: 0 })
    })
    if (Number.isFinite(group.boardCapW)) {
      const each = room * (group.boardCapW - idleW)
      constraints.push({ terms: [...watts(l), ...boardsOf(l, -each)], atMost: 0 })
    }
  })
  groups.forEach((group, g) => {
    const own = lanes.flatMap(({ group: of }, l) => (of === g ? [l] : []))
    const count = own.flatMap((l) => boardsOf(l, 1))
    if (Number.isFinite(group.boards)) constraints.push({ terms: count, atMost: group.boards })
    if (Number.isFinite(group.nodeCapW)) {
      const drawnW = own.flatMap((l) => [...watts(l), ...boardsOf(l, lanes[l]!.idleW)])
      constraints.push({ terms: [...count, [nodeAt + g, -group.boardsPerNode]], atMost: 0 })
      constraints.push({ terms: [...drawnW, [nodeAt + g, -room * group.nodeCapW]], atMost: 0 })
    }
  })
  // In prices of the cheapest board, so that the solver's tolerances mean the same in any unit.
  const unit = Math.min(...groups.map(({ price }) => price))
  const cost = lanes.flatMap(({ group }, l) => boardsOf(l, groups[group]!.price / unit))
  const drawn = lanes.flatMap(({ idleW }, l) => [...watts(l), ...(idleW > 0 ? boardsOf(l, idleW) : [])])
  if (Number.isFinite(fleet.powerW)) constraints.push({ terms: drawn, atMost: fleet.powerW })
  if (leastWattsAt !== undefined) constraints.push({ terms: cost, atMost: (leastWattsAt / unit) * (1 + 1e-12) + 1e-9 })
  const objective = new Float64Array(nodeAt + groups.length)
  for (const [variable, coefficient] of leastWattsAt === undefined ? cost : drawn) objective[variable] = coefficient
  const most = (i: number) => {
    const group = groups[i - nodeAt]
    if (!group) return {}
    // Nodes count only where their watts do.
    if (!Number.isFinite(group.nodeCapW)) return { atMost: 0 }
    return Number.isFinite(group.boards) ? { atMost: Math.ceil(group.boards / group.boardsPerNode) } : {}
  }
  const answer = solver.solve(
    {
      sense: 'minimize',
      variables: [...objective].map((each, i) => ({ objective: each, whole: true, ...most(i) })),
      constraints,
    },
    { mostIterations, tolerance: FEASIBILITY, absoluteGap: leastWattsAt === undefined ? 1e-6 : 0.5 },
  )
  const scale = leastWattsAt === undefined ? unit : 1
  if (answer.status === 'infeasible') return 'infeasible'
  if (answer.values === null) return { bound: answer.bound * scale }
  return {
    instances: Int32Array.from(rows, (_, r) => Math.round(answer.values![r]!)),
    boards: patterns.map((of, l) => Int32Array.from(of, (_, k) => Math.round(answer.values![boardAt[l]! + k]!))),
    value: answer.objective * scale,
    bound: Math.min(answer.bound, answer.objective) * scale,
  }
}

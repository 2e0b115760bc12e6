import { type LinearConstraint, loadSolver, type Term } from '@pctodl/solver'
import type { ServiceObjective } from '../profile.js'
import type { BoardPattern } from './board-patterns.js'
import type { CheckedFleet } from './fleet.js'
import type { FleetRow } from './fleet-rows.js'

export interface FleetProgram {
  readonly fleet: CheckedFleet
  readonly objectives: readonly ServiceObjective[]
  readonly rows: readonly FleetRow[]
  /** By group. */
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
  /** Boards by group and pattern. */
  readonly boards: readonly Int32Array[]
  /** Of the objective. */
  readonly value: number
  /** No plan has less. */
  readonly bound: number
}

/** Tighter than the solver's own, so that no rate is short by more than rounding. */
const FEASIBILITY = 1e-9

/**
 * Integers: instances of each row, boards of each pattern, nodes of each group. Each rate is covered; of each profile there are at most as many
 * instances as the boards' patterns hold. Limits on watts are summed over the boards of a group, which no plan can exceed;
 * that each single board keeps its own is seen when they are packed.
 *
 * @returns null where no fleet keeps these limits; `instances` null where the work ran out first
 */
export async function solveFleet(
  program: FleetProgram,
): Promise<FleetCounts | 'infeasible' | { readonly bound: number }> {
  const { fleet, objectives, rows, patterns, mostIterations, room, leastWattsAt } = program
  const solver = await loadSolver()
  const { groups } = fleet
  const boardAt: number[] = []
  let variables = rows.length
  for (const of of patterns) {
    boardAt.push(variables)
    variables += of.length
  }
  const nodeAt = variables
  const boardsOf = (g: number, coefficient: number): Term[] =>
    patterns[g]!.map((_, k) => [boardAt[g]! + k, coefficient])
  const rowsOf = (accept: (row: FleetRow) => boolean, coefficient: (row: FleetRow) => number): Term[] =>
    rows.flatMap((row, r): Term[] => (accept(row) ? [[r, coefficient(row)]] : []))
  const watts = (g: number): Term[] =>
    rowsOf(
      ({ group, powerW }) => group === g && powerW > 0,
      ({ powerW }) => powerW,
    )
  const constraints: LinearConstraint[] = objectives.map(({ ratePerS }, m) => ({
    terms: rowsOf(
      ({ service }) => service === m,
      (row) => row.ratePerS / ratePerS,
    ),
    atLeast: 1,
  }))
  groups.forEach((group, g) => {
    group.geometry.profiles.forEach((_, p) => {
      const used = rowsOf(
        (row) => row.group === g && row.profile === p,
        () => 1,
      )
      if (used.length === 0) return
      const held = patterns[g]!.flatMap(({ counts }, k): Term[] =>
        counts[p]! > 0 ? [[boardAt[g]! + k, -counts[p]!]] : [],
      )
      constraints.push({ terms: [...used, ...held], atMost: 0 })
    })
    if (Number.isFinite(group.boards)) constraints.push({ terms: boardsOf(g, 1), atMost: group.boards })
    if (Number.isFinite(group.boardCapW)) {
      const each = room * (group.boardCapW - group.idleW)
      constraints.push({ terms: [...watts(g), ...boardsOf(g, -each)], atMost: 0 })
    }
    if (Number.isFinite(group.nodeCapW)) {
      constraints.push({ terms: [...boardsOf(g, 1), [nodeAt + g, -group.boardsPerNode]], atMost: 0 })
      constraints.push({
        terms: [...watts(g), ...boardsOf(g, group.idleW), [nodeAt + g, -room * group.nodeCapW]],
        atMost: 0,
      })
    }
  })
  // In prices of the cheapest board, so that the solver's tolerances mean the same in any unit.
  const unit = Math.min(...groups.map(({ price }) => price))
  const cost = groups.flatMap(({ price }, g) => boardsOf(g, price / unit))
  const drawn = groups.flatMap(({ idleW }, g) => [...watts(g), ...(idleW > 0 ? boardsOf(g, idleW) : [])])
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
    boards: patterns.map((of, g) => Int32Array.from(of, (_, k) => Math.round(answer.values![boardAt[g]! + k]!))),
    value: answer.objective * scale,
    bound: Math.min(answer.bound, answer.objective) * scale,
  }
}

import {
  type Answer,
  type LinearConstraint,
  type LinearProgram,
  loadSolver,
  type Term,
  type Variable,
} from '@pctodl/numerics/programs'
import type { MigPlacement, MigSlot } from '@pctodl/platform'
import type { MappedBoard } from '../map/fleet-map.js'
import type { ServiceObjective } from '../profile.js'
import { patternsOf } from './board-patterns.js'
import type { CheckedFleet } from './check-fleet.js'
import type { FleetRow } from './fleet-rows.js'

export interface RunningInstance extends MigPlacement {
  /** How the instance is used; absent if it misses an objective or was not measured, so that it must be removed. */
  readonly row?: FleetRow
}

/** A board in use. */
export interface RunningBoard extends MappedBoard {
  /** Index of the board's lane. Absent if nothing was measured at its clock: its instances must then be removed. */
  readonly lane?: number
  readonly group: number
  readonly instances: readonly RunningInstance[]
}

/** What the program minimises. */
export type Goal =
  | { readonly kind: 'cost' }
  /** Power at full load, or compute slices of instances, among boards that cost no more than `maxCost`. */
  | { readonly kind: 'watts' | 'slices'; readonly maxCost: number }
  /** Number of instances created (a restart counts half); then cost; then capacity that services lack meanwhile. */
  | { readonly kind: 'moves'; readonly maxCost: number }
  /** Energy of a period: boards in use (compared with parked ones), answering requests, and creating instances. */
  | { readonly kind: 'energy'; readonly periodS: number; readonly migrationS: number; readonly parkedW: number }

/** Services, boards, running instances and a goal, as one integer program. */
export interface Program {
  readonly fleet: CheckedFleet
  readonly objectives: readonly ServiceObjective[]
  readonly rows: readonly FleetRow[]
  readonly running: readonly RunningBoard[]
  readonly goal: Goal
  readonly maxIterations: number
  /** Fraction of the power above idle that boards and nodes may use. The rest is a margin for uneven placement. */
  readonly room: number
  /** Requests/s that each service must still be able to answer during the change, by model. */
  readonly keepPerS?: ReadonlyMap<string, number>
  /** Maximum sum of the rates by which services may fall short of `keepPerS`, requests/s. Default: no limit. */
  readonly maxShortPerS?: number
}

export interface ProgramCounts {
  /** Number of new instances of each row, including those on running boards. */
  readonly instances: Int32Array
  /** Number of additional boards, by lane (a group at one SM clock) and pattern. */
  readonly boards: readonly Int32Array[]
  /** Whether each running instance stays, by running board. */
  readonly kept: readonly (readonly boolean[])[]
  /** Places of new instances, by running board. */
  readonly placed: readonly (readonly MigPlacement[])[]
  readonly value: number
  /** Lower bound on the goal. */
  readonly bound: number
}

/** Answer of a program that has no solution, or for which none was found within its iterations. */
type Unsolved = { readonly instances?: undefined; readonly infeasible: boolean; readonly bound: number }

/** Stricter than the solver's default. At 1e-9, the solver has called solutions optimal that were not. */
const FEASIBILITY = 1e-7
/** Relative gap between solution and bound that is accepted for slices, power and energy. */
const RELATIVE_GAP = 5e-5
/** Weight of the rate that services lack during a change, if a created instance weighs 1. */
const SHORT_WEIGHT = 0.1

/**
 * Builds and solves the integer program. Variables: new instances of each row; boards of each lane and pattern; for
 * each running board, which instances stay and until when, and where new ones start. Constraints: each rate is covered,
 * and a lane's new instances of a profile fit its boards. An instance that stays until others have been created
 * occupies its memory slices until then. Power limits apply to sums over boards; placement checks them for each board.
 */
export async function solveProgram(program: Program): Promise<ProgramCounts | Unsolved> {
  const { fleet, objectives, rows, running, goal, maxIterations, room } = program
  const { groups, lanes } = fleet
  const variables: Variable[] = []
  const constraints: LinearConstraint[] = []
  const variable = (objective: number, atMost?: number, whole = true): number =>
    variables.push({ objective, whole, ...(atMost !== undefined && { atMost }) }) - 1
  // Prices are divided by the lowest price, so that the solver's tolerances do not depend on the user's unit.
  const unit = Math.min(...groups.map(({ price }) => price))
  const price = (group: number) => groups[group]!.price / unit
  const maxCost = 'maxCost' in goal ? goal.maxCost / unit : Infinity
  // Small enough that all boards together weigh less than half an instance.
  const moveWeight = 0.4 / Math.max(1, maxCost)
  const kJ = 1e-3
  const boardValue = (group: number, idleW: number): number => {
    if (goal.kind === 'cost') return price(group)
    if (goal.kind === 'watts') return idleW
    if (goal.kind === 'moves') return moveWeight * price(group)
    return goal.kind === 'energy' ? kJ * goal.periodS * (idleW - goal.parkedW) : 0
  }
  const slot = ({ lane, profile }: FleetRow): MigSlot => groups[lanes[lane]!.group]!.geometry.profiles[profile]!
  const rowValue = (row: FleetRow): number => {
    const { powerW = 0 } = row
    if (goal.kind === 'slices') return slot(row).computeSlices
    if (goal.kind === 'watts') return powerW
    if (goal.kind === 'moves') return 1
    return goal.kind === 'energy' ? kJ * goal.migrationS * powerW : 0
  }

  /** Terms by service and way. */
  const covers = objectives.map((_, m) => waysOf(rows, m).map((): Term[] => []))
  /** Number of boards of each lane, and the power that instances add to them. */
  const ofLane = lanes.map(() => ({ count: [] as Term[], added: [] as Term[] }))
  const serve = (at: number, { lane, way = 0, parts, powerW = 0 }: FleetRow): void => {
    for (const { service, ratePerS } of parts) {
      covers[service]![way]!.push([at, timesServed(ratePerS, objectives[service]!.ratePerS)])
    }
    if (powerW > 0) ofLane[lane]!.added.push([at, powerW])
  }
  const boardOf = (lane: number, atMost?: number): number => {
    const { group, idleW } = lanes[lane]!
    const at = variable(boardValue(group, idleW), atMost)
    ofLane[lane]!.count.push([at, 1])
    return at
  }

  const rowAt = rows.map((row) => {
    const at = variable(rowValue(row))
    serve(at, row)
    return at
  })
  const created = rows.map((row, r) => [row, [rowAt[r]!]] as const)
  const boardAt = lanes.map(({ group }, l) => patternsOf(groups[group]!.geometry).map(() => boardOf(l)))
  /** Indices of the variables for running instances, by row. */
  const keptOf = new Map<FleetRow, number[]>()
  const stays: Term[][] = objectives.map(() => [])
  const placedOf = lanes.map(({ group }) => groups[group]!.geometry.profiles.map((): number[] => []))
  const stand = running.map(({ lane, group, instances }) => {
    if (lane === undefined) return null
    const { geometry } = groups[group]!
    const used = boardOf(lane, 1)
    const slices: Term[][] = Array.from({ length: geometry.memorySlices }, () => [[used, -1]])
    const compute: Term[] = [[used, -geometry.computeSlices]]
    const take = (at: number, { computeSlices, memorySlices }: MigSlot, start: number): void => {
      compute.push([at, computeSlices])
      for (let slice = start; slice < start + memorySlices; slice++) slices[slice]!.push([at, 1])
    }
    const kept = instances.map(({ profile, start, row }) => {
      if (!row) return null
      const until = variable(0, 1)
      const on = variable(0, 1)
      take(until, profile, start)
      const first: Term = [until, 1]
      constraints.push({ terms: [first, [on, -1]], atLeast: 0 })
      serve(on, row)
      for (const { service, ratePerS } of row.parts) stays[service]!.push([until, ratePerS])
      keptOf.set(row, [...(keptOf.get(row) ?? []), on])
      return on
    })
    const places = geometry.profiles.flatMap((slot, profile) => {
      if (!rows.some((row) => row.lane === lane && row.profile === profile)) return []
      return slot.placements.map((start) => {
        // If an instance of this profile already is at this place, only its processes restart.
        const restart = instances.some((each) => each.profile === slot && each.start === start)
        const at = variable(goal.kind === 'moves' && restart ? -0.5 : 0, 1)
        take(at, slot, start)
        placedOf[lane]![profile]!.push(at)
        return { profile: slot, start, at }
      })
    })
    for (const terms of [...slices, compute]) constraints.push({ terms, atMost: 0 })
    return { kept, places }
  })

  covers.forEach((ways, m) => {
    const chosen = (terms: readonly Term[]): Term => {
      const taken = variable(0, 1)
      constraints.push({ terms: [...terms, [taken, -1]], atLeast: 0 })
      return [taken, 1]
    }
    // At least one way must cover the whole rate.
    constraints.push({ terms: ways.length === 1 ? ways[0]! : ways.map(chosen), atLeast: 1 })
    constraints.push(...sliceCuts(program, m, [...created, ...keptOf]))
  })
  lanes.forEach(({ group, idleW }, l) => {
    const { geometry, boardCapW } = groups[group]!
    geometry.profiles.forEach((_, p) => {
      const used = rows.flatMap((row, r): Term[] => (row.lane === l && row.profile === p ? [[rowAt[r]!, 1]] : []))
      if (used.length === 0) return
      const held = patternsOf(geometry).flatMap(({ counts }, k): Term[] =>
        counts[p]! > 0 ? [[boardAt[l]![k]!, -counts[p]!]] : [],
      )
      const placed = placedOf[l]![p]!.map((at): Term => [at, -1])
      constraints.push({ terms: [...used, ...held, ...placed], atMost: 0 })
      if (placed.length > 0) constraints.push({ terms: [...used, ...placed], atLeast: 0 })
    })
    if (Number.isFinite(boardCapW)) {
      const each = room * (boardCapW - idleW)
      const { added, count } = ofLane[l]!
      constraints.push({ terms: [...added, ...times(count, -each)], atMost: 0 })
    }
  })
  const drawnIn = (of: readonly number[]) =>
    of.flatMap((l) => [...ofLane[l]!.added, ...times(ofLane[l]!.count, lanes[l]!.idleW)])
  groups.forEach(({ boards, boardsPerNode, nodeCapW }, g) => {
    const own = [...lanes.keys()].filter((l) => lanes[l]!.group === g)
    const count = own.flatMap((l) => ofLane[l]!.count)
    if (Number.isFinite(boards)) constraints.push({ terms: count, atMost: boards })
    if (!Number.isFinite(nodeCapW)) return
    const nodes = variable(0, Number.isFinite(boards) ? Math.ceil(boards / boardsPerNode) : undefined)
    constraints.push({ terms: [...count, [nodes, -boardsPerNode]], atMost: 0 })
    constraints.push({ terms: [...drawnIn(own), [nodes, -room * nodeCapW]], atMost: 0 })
  })
  if (Number.isFinite(fleet.powerW)) constraints.push({ terms: drawnIn([...lanes.keys()]), atMost: fleet.powerW })
  if (Number.isFinite(maxCost)) {
    const cost = lanes.flatMap(({ group }, l) => times(ofLane[l]!.count, price(group)))
    constraints.push({ terms: cost, atMost: maxCost * (1 + 1e-12) + 1e-9 })
  }
  const short: Term[] = []
  objectives.forEach(({ model }, m) => {
    const keep = program.keepPerS?.get(model) ?? 0
    if (keep === 0 || stays[m]!.length === 0) return
    const weight = goal.kind === 'moves' ? SHORT_WEIGHT / objectives.length : 0
    const lacking = variable(weight, program.maxShortPerS === 0 ? 0 : 1, false)
    const terms = stays[m]!.map(([at, ratePerS]): Term => [at, timesServed(ratePerS, keep)])
    constraints.push({ terms: [...terms, [lacking, 1]], atLeast: 1 - 1e-9 })
    short.push([lacking, keep])
  })
  if (program.maxShortPerS !== undefined && program.maxShortPerS > 0 && short.length > 0) {
    constraints.push({ terms: short, atMost: program.maxShortPerS })
  }
  if (goal.kind === 'energy') {
    // Requests go first to the instances with the lowest energy per request.
    const answered: Term[][] = objectives.map(() => [])
    for (const [{ parts, powerW = 0 }, at] of [...keptOf, ...created]) {
      for (const { service, ratePerS } of parts) {
        const share = timesServed(ratePerS, objectives[service]!.ratePerS)
        const full = variable((kJ * goal.periodS * powerW) / parts.length, undefined, false)
        answered[service]!.push([full, share])
        constraints.push({ terms: [[full, 1], ...at.map((each): Term => [each, -1])], atMost: 0 })
      }
    }
    for (const terms of answered) constraints.push({ terms, atLeast: 1, atMost: 1 })
  }

  const costGap = groups.every((_, g) => price(g) === 1) ? 0.999 : 1e-6
  const gap = { cost: costGap, watts: 0.5, slices: 0.999, moves: 1e-3, energy: 0.5 }[goal.kind]
  const relativeGap = goal.kind === 'cost' || goal.kind === 'moves' ? 0 : RELATIVE_GAP
  const made: LinearProgram = { sense: 'minimize', variables, constraints }
  const solver = await loadSolver()
  const limits = { maxIterations, tolerance: FEASIBILITY }
  const relaxed = solver.solve({ ...made, variables: variables.map((each) => ({ ...each, whole: false })) }, limits)
  const relaxedBound = relaxed.status === 'optimal' ? relaxed.bound : 0
  const absoluteGap = Math.max(gap, relativeGap * relaxedBound)
  const answer =
    goal.kind === 'moves' ? await search(made, relaxed, limits, gap) : solver.solve(made, { ...limits, absoluteGap })

  // If the goal is a number of slices or of equally priced boards, it is an integer, so the bound can be rounded up.
  const proved = Math.max(answer.bound, relaxedBound)
  const bound = gap === 0.999 ? Math.ceil(proved - 1e-6) : proved
  const scale = goal.kind === 'cost' ? unit : goal.kind === 'energy' ? 1 / kJ : 1
  if (answer.values === null) return { infeasible: answer.status === 'infeasible', bound: bound * scale }
  const { values } = answer
  const at = (each: number) => Math.round(values[each]!)
  return {
    instances: Int32Array.from(rowAt, at),
    boards: boardAt.map((of) => Int32Array.from(of, at)),
    kept: running.map(({ instances }, b) => instances.map((_, i) => at(stand[b]?.kept[i] ?? -1) === 1)),
    placed: running.map((_, b) =>
      (stand[b]?.places ?? []).flatMap(({ at: each, ...place }) => (at(each) === 1 ? [place] : [])),
    ),
    value: answer.objective * scale,
    bound: Math.min(bound, answer.objective) * scale,
  }
}

/**
 * How many times over an instance serves a rate. Limited: of a tiny rate, a share of an instance below the tolerance
 * would suffice, which the solver takes for no instance.
 */
function timesServed(ratePerS: number, neededPerS: number): number {
  return Math.min(1e4, ratePerS / neededPerS)
}

function times(terms: readonly Term[], factor: number): Term[] {
  return factor === 0 ? [] : terms.map(([at, each]) => [at, factor * each])
}

function waysOf(rows: readonly FleetRow[], service: number): number[] {
  const own = rows.filter(({ parts }) => parts.some((part) => part.service === service))
  return [...new Set(own.map(({ way = 0 }) => way))]
}

/**
 * Lower bounds on the compute and memory slices that a service's instances use, whichever instances they are. The
 * relaxation knows only that rates are covered; these cuts add that the number of slices is whole.
 */
function sliceCuts(
  { fleet: { groups, lanes }, objectives }: Program,
  m: number,
  variablesOf: readonly (readonly [FleetRow, readonly number[]])[],
): LinearConstraint[] {
  return (['computeSlices', 'memorySlices'] as const).map((size) => {
    const terms: Term[] = []
    let least = Infinity
    for (const [{ lane, profile, parts }, at] of variablesOf) {
      const part = parts.find(({ service }) => service === m)
      if (!part) continue
      const slices = groups[lanes[lane]!.group]!.geometry.profiles[profile]![size]
      least = Math.min(least, (slices * objectives[m]!.ratePerS) / part.ratePerS)
      for (const each of at) terms.push([each, slices])
    }
    // Without any row, nothing serves the rate; the solver accepts no infinite bound.
    return { terms, atLeast: terms.length > 0 ? Math.ceil(least - 1e-6) : 1 }
  })
}

/** Units of each variable that stay free when the rest of the relaxed solution is fixed. */
const LOOSE = 2
/** If the relaxed solution has more whole units than this, most are fixed and the reduced program is solved first. */
const MANY = 60
/** Variables up to which a change gets all iterations. In larger programs, each iteration takes longer. */
const CHANGE_SIZE = 80

/**
 * Solves the program of a change. If the relaxation has many whole units, most of them are fixed and only the small
 * rest is solved. If the answer does not equal the relaxation's bound, a better one is searched for. This search has a
 * constraint on the objective instead of a warm start, because the solver has called warm starts optimal although they
 * were not.
 *
 * @param relaxed the solution of the relaxation
 */
async function search(
  program: LinearProgram,
  relaxed: Answer,
  limits: { readonly maxIterations: number; readonly tolerance: number },
  absoluteGap: number,
): Promise<Answer> {
  const solver = await loadSolver()
  const { variables, constraints } = program
  if (relaxed.status === 'infeasible') return relaxed
  const bound = relaxed.status === 'optimal' ? relaxed.bound : -Infinity
  const options = { ...limits, absoluteGap }
  let best: { readonly values: Float64Array; readonly objective: number } | undefined
  // Binary variables (whether a running instance stays) keep their values.
  const least = variables.map(({ whole, atMost }, i) =>
    whole ? Math.max(0, Math.floor((relaxed.values?.[i] ?? 0) + 1e-6) - (atMost === 1 ? 0 : LOOSE)) : 0,
  )
  if (least.reduce((a, b) => a + b, 0) > MANY) {
    const rest = variables.map((each, i) => ({ ...each, atLeast: least[i]! }))
    const { values, objective } = solver.solve({ ...program, variables: rest }, options)
    if (values) best = { values, objective }
  }
  if (!best) return solver.solve(program, options)
  if (best.objective <= bound + absoluteGap) return { status: 'optimal', ...best, bound }
  const better: LinearConstraint = {
    terms: variables.flatMap(({ objective }, i): Term[] => (objective === 0 ? [] : [[i, objective]])),
    atMost: best.objective - absoluteGap,
  }
  const work = Math.ceil(limits.maxIterations * Math.min(1, CHANGE_SIZE / variables.length))
  const answer = solver.solve(
    { ...program, constraints: [...constraints, better] },
    { ...options, maxIterations: work },
  )
  if (answer.values) return answer
  const proved = answer.status === 'infeasible' ? best.objective - absoluteGap : answer.bound
  return { status: 'limited', ...best, bound: Math.max(bound, proved) }
}

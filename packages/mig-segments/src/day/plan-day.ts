import { groupBy, PctodlError } from '@pctodl/platform'
import { check, isPositive } from '../check.js'
import { type CheckedFleet, checkFleet, laneOf } from '../fleet/check-fleet.js'
import type { Fleet } from '../fleet/fleet.js'
import type { FleetPlan } from '../fleet/fleet-plan.js'
import { type FleetGate, fleetRows } from '../fleet/fleet-rows.js'
import { type FleetBoard, placeBoards } from '../fleet/place-fleet.js'
import {
  assertObjectives,
  assertSplit,
  CHECK_SEED,
  DEFAULT_MAX_ITERATIONS,
  type FleetOptions,
  lateInFleet,
  planOnce,
  untilKept,
} from '../fleet/plan-fleet.js'
import { type Goal, type Program, solveProgram } from '../fleet/program.js'
import type { MappedBoard } from '../map/fleet-map.js'
import type { ServiceObjective } from '../profile.js'
import { type FleetStep, wattsOf } from '../replan/fleet-migration.js'
import { keptRates, laidOver, runningBoards, serves, stepsTo } from '../replan/replan-fleet.js'

export interface DayOptions extends FleetOptions {
  /** Length of a period, s. */
  readonly periodS: number
  /** Time from the start of an instance's creation until it answers requests (instance, processes, weights), s. */
  readonly migrationS: number
  /** Power of a board without instances, W; 0 if such boards are switched off or returned to their owner. */
  readonly parkedW: number
  /**
   * Maximum fraction of the requests so far that changes may make late, 0..0.1. Default 0: no service falls below its
   * rate during a change.
   */
  readonly maxLate?: number
}

/** One period of a schedule: its map, and the steps to it from the previous period's map. */
export interface PlannedPeriod {
  readonly boards: readonly FleetBoard[]
  /** In an order that keeps services up: instances are created before the period begins, and removed after that. */
  readonly steps: readonly FleetStep[]
  /** Energy of the period and of the change to it, J, beyond what all boards would use without instances. */
  readonly energyJ: number
  /** Upper bound on the requests that could not be answered during the change. */
  readonly lateRequests: number
}

export interface DayTotals {
  /** Energy of all boards, J: boards that have instances and boards that have none. */
  readonly energyJ: number
  /** Number of instances created after the first period. */
  readonly created: number
  readonly lateRequests: number
  /** Largest number of boards in use in any period. */
  readonly maxBoards: number
}

export interface DaySchedule extends DayTotals {
  readonly periods: readonly PlannedPeriod[]
  /**
   * Indices of the periods into which no change keeps within `maxLate`. From an earlier period on, the map for the
   * highest rates of the day stands there.
   */
  readonly blocked: readonly number[]
  readonly unserved: FleetPlan['unserved']
  /** Number of boards whose energy is counted. */
  readonly boards: number
  readonly requests: number
  /** Lower bound on the energy of any schedule, J: the sum of the minimum energies of the periods without changes. */
  readonly lowerBoundJ: number
  /** For comparison: one plan for the highest rates of the day, kept all day. */
  readonly staticPlan: DayTotals
}

/** Maximum number of periods: a day of quarter hours. */
const MAX_PERIODS = 96
/** Requests simulated per service and period to check p99. */
const CHECK_REQUESTS = 20_000
/** Share of a program's iterations that the bound of a period gets. It has more points to choose from, and decides nothing. */
const BOUND_WORK = 0.25

/**
 * Plans maps that follow the rates of a day with little energy. Each period changes the map of the period before, with
 * energy as the goal. While instances are created, each service keeps the capacity that both periods need. In a period
 * that no change can reach, the plan for the highest rates of the day stands. If it takes less energy, it is kept all day.
 *
 * @param fleet one group of boards, with `idleW` and measured power
 * @param periods the objectives of each period; a service that is missing gets no requests in it
 * @throws InvalidInputError for options out of range, latencies that change between periods and profiles without
 *   measured power; also the errors of `planFleet`
 */
export async function planDay(
  fleet: Fleet,
  periods: readonly (readonly ServiceObjective[])[],
  options: DayOptions,
): Promise<DaySchedule> {
  if (fleet.groups.length > 1) {
    throw new PctodlError('NOT_SUPPORTED', 'a schedule is for one group of boards; plan each group for itself')
  }
  const checked = checkFleet(fleet, 'a schedule saves energy')
  assertDay(periods, options, Math.min(...checked.lanes.map(({ idleW }) => idleW)))
  const peaks = peaksOf(periods)
  const { checkRequests: requests = CHECK_REQUESTS } = options
  const lateIn = (day: DaySchedule) =>
    day.periods.flatMap(({ boards }, h) => {
      const served = periods[h]!.filter(({ model }) => !day.unserved.some((each) => each.model === model))
      return [...lateInFleet({ boards, served }, fleet, options, { requests, seed: CHECK_SEED + h })]
    })
  return untilKept(options, (gate) => scheduleOnce(checked, peaks, periods, gate, options), lateIn)
}

async function scheduleOnce(
  fleet: CheckedFleet,
  peaks: readonly ServiceObjective[],
  periods: readonly (readonly ServiceObjective[])[],
  gate: FleetGate,
  options: DayOptions,
): Promise<DaySchedule> {
  const { maxIterations = DEFAULT_MAX_ITERATIONS, maxLate = 0, periodS, migrationS, parkedW } = options
  const still = await planOnce(fleet, peaks, gate, maxIterations)
  const can = new Set(still.served.map(({ model }) => model))
  const asked = periods.map((of) =>
    of.filter(({ model }) => can.has(model)).sort((a, b) => (a.model < b.model ? -1 : 1)),
  )
  const goal: Goal = { kind: 'energy', periodS, migrationS, parkedW }
  const rateOf = (h: number, model: string) => asked[h]!.find((each) => each.model === model)?.ratePerS ?? 0
  const requestsUntil = (h: number) =>
    periodS *
    asked
      .slice(0, h + 1)
      .flat()
      .reduce((sum, { ratePerS }) => sum + ratePerS, 0)
  const inUseJ = (boards: readonly FleetBoard[], h: number) =>
    periodS *
    (boards.reduce((sum, board) => sum + fleet.lanes[laneOf(fleet, board)]!.idleW - parkedW, 0) +
      servingW(boards, asked[h]!))
  const unchanged = (boards: readonly FleetBoard[], h: number): PlannedPeriod => {
    return { boards, steps: [], energyJ: inUseJ(boards, h), lateRequests: 0 }
  }
  const lateBy = (way: readonly PlannedPeriod[]) => way.reduce((sum, { lateRequests }) => sum + lateRequests, 0)
  let boundJ = 0
  const made: PlannedPeriod[] = []
  const blocked: number[] = []
  /** The change from the last period that is made to the next one. */
  const nextChange = () => {
    const h = made.length
    const objectives = asked[h]!
    const current = made[h - 1]!.boards
    const running = runningBoards(fleet, current, objectives, gate)
    const both = objectives.map((each) => ({ ...each, ratePerS: Math.max(each.ratePerS, rateOf(h - 1, each.model)) }))
    const keepPerS = keptRates(both, running)
    const allowed = Math.max(0, maxLate * requestsUntil(h) - lateBy(made)) + 1e-6
    const to = (boards: readonly FleetBoard[]): PlannedPeriod => {
      const { steps, lackingPerS } = stepsTo(fleet, running, boards, keepPerS)
      const energyJ = inUseJ(boards, h) + wayJ(fleet, current, steps, options)
      // Instances are created one after another. Removing one takes no time.
      return { boards, steps, energyJ, lateRequests: migrationS * lackingPerS }
    }
    return { current, running, keepPerS, allowed, to }
  }
  for (const [h, objectives] of asked.entries()) {
    const rows = fleetRows(fleet, objectives, gate, 'one-way', fleet.limited || fleet.lanes.length > 1)
    const program = { fleet, objectives, rows, running: [], maxIterations, room: 1, goal }
    boundJ += await minJ(program)
    if (h === 0) {
      made.push(unchanged((await placed(program)) ?? still.boards, 0))
      continue
    }
    const { current, running, keepPerS, allowed, to } = nextChange()
    const ways = serves(fleet, current, objectives) ? [to(current)] : []
    for (const maxShortPerS of [allowed / Math.max(1, migrationS), 0]) {
      const boards = await placed({ ...program, running, keepPerS, maxShortPerS })
      if (boards) ways.push(to(boards))
    }
    const within = ways.filter(({ lateRequests }) => lateRequests <= allowed)
    if (within.length > 0) {
      made.push(within.reduce((a, b) => (b.energyJ < a.energyJ ? b : a)))
      continue
    }
    // No such change: the map for the whole day stands in this period, from the last one on that it can be changed to.
    while (made.length > 0) {
      const change = nextChange()
      const held = change.to(laidOver(fleet, still.boards, change.current))
      if (held.lateRequests <= change.allowed) {
        made.push(held)
        break
      }
      if (made.length === h) blocked.push(h)
      made.pop()
    }
    while (made.length <= h) made.push(unchanged(made.at(-1)?.boards ?? still.boards, made.length))
  }
  const maxBoards = Math.max(...made.map(({ boards }) => boards.length), still.boards.length)
  const limit = fleet.groups[0]!.boards
  const boards = Number.isFinite(limit) ? limit : maxBoards
  const parkedJ = boards * parkedW * periodS * periods.length
  const totals = (way: readonly PlannedPeriod[]): DayTotals => ({
    energyJ: parkedJ + way.reduce((sum, { energyJ }) => sum + energyJ, 0),
    created: way.reduce((sum, { steps }) => sum + steps.filter(({ kind }) => kind === 'create').length, 0),
    lateRequests: lateBy(way),
    maxBoards: Math.max(0, ...way.map((each) => each.boards.length)),
  })
  const kept = asked.map((_, h) => unchanged(still.boards, h))
  const staticPlan = totals(kept)
  // Each change looks one period ahead, so all of them may take more energy than none.
  const chosen = totals(made).energyJ < staticPlan.energyJ ? made : kept
  const all = totals(chosen)
  return {
    ...all,
    periods: chosen,
    blocked,
    unserved: still.unserved,
    boards,
    requests: requestsUntil(asked.length - 1),
    staticPlan,
    lowerBoundJ: Math.min(all.energyJ, parkedJ + boundJ),
  }

  /** Boards of the program's solution; null if there is none or if it does not fit onto boards. */
  async function placed(program: Program): Promise<FleetBoard[] | null> {
    if (program.objectives.length === 0 && program.running.length === 0) return []
    const counts = await solveProgram(program)
    return counts.instances ? placeBoards(fleet, program.rows, counts, program.running) : null
  }

  /**
   * Lower bound on the energy of a period with any map. Its instances may all stand already, so their creation does not
   * count. They may also be slower than those of the schedule, which uses the fastest.
   */
  async function minJ(program: Program): Promise<number> {
    if (program.objectives.length === 0) return 0
    const rows = fleetRows(fleet, program.objectives, gate, 'best', true)
    const { bound } = await solveProgram({
      ...{ ...program, rows, goal: { kind: 'energy', periodS, migrationS: 0, parkedW } },
      maxIterations: Math.ceil(maxIterations * BOUND_WORK),
    })
    return Math.max(0, bound)
  }
}

/** Energy of a change: before they answer requests, new instances draw power, and boards that come into use idle. */
function wayJ(
  fleet: CheckedFleet,
  current: readonly FleetBoard[],
  steps: readonly FleetStep[],
  { migrationS, parkedW }: DayOptions,
): number {
  const placeOf = ({ node, index }: Pick<MappedBoard, 'node' | 'index'>) => `${node} ${index}`
  const before = new Set(current.map(placeOf))
  const created = steps.flatMap(({ kind, instance }) => (kind === 'create' ? [instance] : []))
  const byBoard = groupBy(created, placeOf)
  const wayS = migrationS * Math.max(0, ...[...byBoard.values()].map(({ length }) => length))
  const fresh = [...byBoard].filter(([place]) => !before.has(place))
  const moreW = fresh.reduce((sum, [, [first]]) => sum + fleet.lanes[laneOf(fleet, first!)]!.idleW - parkedW, 0)
  return created.reduce((sum, instance) => sum + migrationS * wattsOf(instance), 0) + wayS * moreW
}

function peaksOf(periods: readonly (readonly ServiceObjective[])[]): ServiceObjective[] {
  const peaks = new Map<string, ServiceObjective>()
  for (const objective of periods.flat()) {
    const { model, ratePerS, latencyMs } = objective
    const peak = peaks.get(model) ?? objective
    const expected = `${peak.latencyMs}, as in the periods before; a schedule follows rates only`
    check(peak.latencyMs === latencyMs, `objective of ${model}: latencyMs`, latencyMs, expected)
    peaks.set(model, ratePerS >= peak.ratePerS ? objective : peak)
  }
  return [...peaks.values()]
}

function assertDay(periods: readonly (readonly ServiceObjective[])[], options: DayOptions, boardW: number): void {
  assertSplit(options)
  for (const objectives of periods) assertObjectives(objectives)
  const { periodS, migrationS, parkedW, maxLate = 0 } = options
  const { length } = periods
  check(length >= 1 && length <= MAX_PERIODS, 'periods', length, `1 to ${MAX_PERIODS} periods`)
  check(maxLate >= 0 && maxLate <= 0.1, 'maxLate', maxLate, 'a share from 0 to 0.1')
  check(isPositive(periodS), 'periodS', periodS, 'seconds above 0')
  const within = `seconds from 0 to a period, ${periodS}`
  check(migrationS >= 0 && migrationS <= periodS, 'migrationS', migrationS, within)
  const below = `watts from 0 to those of a board with instances, ${boardW}`
  check(parkedW >= 0 && parkedW <= boardW, 'parkedW', parkedW, below)
}

/** Power that instances add to idle boards, W. Requests go first to those with the lowest energy per request. */
export function servingW(boards: readonly FleetBoard[], objectives: readonly ServiceObjective[]): number {
  let watts = 0
  for (const { model, ratePerS } of objectives) {
    const own = boards.flatMap(({ segments }) => segments).filter((segment) => segment.model === model)
    const joulesOf = own.map(({ ratePerS: answers, powerW = 0 }) => ({ answers, joules: powerW / answers }))
    let left = ratePerS
    for (const { answers, joules } of joulesOf.sort((a, b) => a.joules - b.joules)) {
      const taken = Math.min(left, answers)
      watts += taken * joules
      left -= taken
    }
  }
  return watts
}

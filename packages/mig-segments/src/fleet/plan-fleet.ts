import { mean, populationDeviation } from '@pctodl/numerics'
import { InvalidInputError, PctodlError, UnknownNameError } from '@pctodl/platform'
import { check, checkInteger, isPositive } from '../check.js'
import type { ServiceObjective } from '../profile.js'
import type { QueueOutcome } from '../tail/simulate-queue.js'
import { assertTraffic, type StatedTraffic, statedArrivals, underErrors } from '../tail/stated-traffic.js'
import { assertDispatch, type Dispatch } from '../tail/ways.js'
import { type CheckedFleet, checkFleet } from './check-fleet.js'
import { unserved, withKeepable } from './explain-unserved.js'
import type { Fleet } from './fleet.js'
import { type FleetPlan, totalsOf, type UnservedService } from './fleet-plan.js'
import { type FleetGate, fleetRows } from './fleet-rows.js'
import { placeBoards } from './place-fleet.js'
import { solveProgram } from './program.js'
import { type BoardsOfServices, kindsOf, MAX_REQUESTS, simulateLanes } from './simulate-fleet.js'

export interface FleetOptions extends StatedTraffic {
  /**
   * When an objective is met. `latency` (default): a batch takes less than a fraction of the objective. `tail`: the p99
   * of simulated queues is within the objective.
   */
  readonly gate?: 'latency' | 'tail'
  /** Only for `latency`: fraction of an objective that computing a batch may take. Default 0.45. */
  readonly latencyShare?: number
  /**
   * Maximum simplex iterations of each integer program. Default 50 000. If they do not suffice for a proof, the bounds
   * show the remaining gap.
   */
  readonly maxIterations?: number
  /**
   * Only for `tail`: number of simulated requests of each service. A service with more than 0.8 % late requests is
   * planned again with a larger margin; if it is still late after eleven times, it is not served. Default 40 000; with
   * 0, only the estimate is used.
   */
  readonly checkRequests?: number
  /**
   * Only for `tail`: how requests reach instances. `split` (default): at random, with a queue for each instance.
   * `shared`: one queue for each service; models then share no instances, and running maps cannot be changed.
   */
  readonly dispatch?: Dispatch
}

export const DEFAULT_MAX_ITERATIONS = 50_000
const DEFAULT_CHECK_REQUESTS = 40_000
/** Seed of the check, other than the default seed of `simulateFleet`. */
export const CHECK_SEED = 7919
/**
 * Fraction of late requests in the check above which a service gets a larger margin: 0.01 minus four standard
 * deviations for 40 000 independent requests.
 */
const CHECKED_LATE = 0.008
/** Number of times that a service gets a larger margin before it counts as not served. */
const MAX_TIMES = 11
/** Where between a late and a kept margin further ones are tried in turn. */
const BETWEEN = [1 / 2, 1 / 2, 1 / 2, 0]
/** Samples of each process in the check, one without a warm-up. Chance decides whether many workers fall behind. */
const RENEWAL_SAMPLES = 5
/** Samples of a process whose rate changes over time. One sample has few bursts, even if it has many requests. */
const CORRELATED_SAMPLES = 20
/** Standard deviations of p99 in these samples by which its mean must be below the objective. */
const DEVIATIONS = 5
/** Minimum number of simulated requests per place in a batch (a batch of b has b places). */
const CHECKED_PER_SLOT = 100
/** Maximum number of boards of a plan. With it, a mistyped rate fails at once instead of computing for hours. */
const MAX_GPUS = 100_000

/** Fractions of the power above idle that are tried in turn until the limits of single boards and nodes are kept. */
export const ROOMS: readonly number[] = [1, 0.97, 0.94, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5]

/**
 * Chooses boards of several types, the clock and MIG layout of each, and what runs in each instance. All rates are
 * served at the lowest cost; among plans of that cost, the one with the lowest power is chosen (or with the fewest
 * compute slices, if power was not measured). Power limits of boards, nodes and the fleet are kept. The bounds come
 * from an integer program that sums the limits of boards and nodes, so a plan that equals its bound is proved optimal.
 *
 * @param then `slices`: among plans of the lowest cost, minimises compute slices instead of power
 * @throws InvalidInputError for fleets, objectives and options out of range
 * @throws PctodlError `TOO_FEW_GPUS` if boards or power do not suffice; `NO_PLAN` if no solution was found within
 *   `maxIterations`, or none that fits the limits of boards and nodes
 */
export async function planFleet(
  fleet: Fleet,
  objectives: readonly ServiceObjective[],
  options: FleetOptions = {},
  then?: 'slices',
): Promise<FleetPlan> {
  const { maxIterations = DEFAULT_MAX_ITERATIONS } = options
  const checked = checkFleet(fleet)
  const planBy = (how: FleetGate) => planOnce(checked, objectives, how, maxIterations, then)
  return checkedByRequests(fleet, options, planBy, ({ cost }) => cost)
}

/** Plans with `untilKept`. For each service that is not served, the plan names an objective that could be met. */
export async function checkedByRequests<Plan extends Pick<FleetPlan, 'boards' | 'served' | 'unserved'>>(
  fleet: Fleet,
  options: FleetOptions,
  planBy: (gate: FleetGate) => Promise<Plan>,
  costOf?: (plan: Plan) => number,
): Promise<Plan> {
  const { checkRequests: requests = DEFAULT_CHECK_REQUESTS, maxIterations = DEFAULT_MAX_ITERATIONS } = options
  const check = { requests, seed: CHECK_SEED, inTime: new Set<string>() }
  const lateIn = (made: Pick<FleetPlan, 'boards' | 'served'>) => lateInFleet(made, fleet, options, check)
  const plan = await untilKept(options, planBy, lateIn, costOf)
  const boards = checkFleet(fleet)
  const kept = async (objective: ServiceObjective) => {
    const alone = await untilKept(options, (by) => planOnce(boards, [objective], by, maxIterations), lateIn)
    return alone.unserved.length === 0
  }
  const named: UnservedService[] = []
  for (const service of plan.unserved) named.push(await withKeepable(service, boards, gateOf(options), kept))
  return { ...plan, unserved: named }
}

/**
 * Returns the services of a plan that are late under the stated traffic and errors. `inTime` collects the simulations
 * that services have passed, so that they are not repeated.
 */
export function lateInFleet(
  { boards, served }: BoardsOfServices,
  fleet: Fleet,
  { dispatch = 'split', ...traffic }: Pick<FleetOptions, 'dispatch'> & StatedTraffic,
  check: { readonly requests: number; readonly seed: number; readonly inTime?: Set<string> },
): Set<string> {
  const { requests, seed, inTime = new Set<string>() } = check
  const { lanes } = checkFleet(fleet)
  const keys = new Map(
    served.map(({ model, ratePerS, latencyMs }, m) => {
      const kinds = kindsOf(boards, lanes, model).map((kind) => ({ ...kind, batchMs: [...kind.batchMs] }))
      return [model, `${m} ${ratePerS} ${latencyMs} ${JSON.stringify(kinds)}`]
    }),
  )
  const asked = [...keys].flatMap(([model, key]) => (inTime.has(key) ? [] : [model]))
  const only = new Set(asked)
  const hard = { boards, served: served.map((service) => underErrors(service, traffic)) }
  for (const way of statedArrivals(traffic)) {
    const p99sMs: number[][] = served.map(() => [])
    for (let sample = 0; sample < (way.arrivals ? CORRELATED_SAMPLES : RENEWAL_SAMPLES); sample++) {
      const fresh = sample === RENEWAL_SAMPLES - 1
      const how = { ...way, seed: seed + sample, dispatch, requests, perSlot: CHECKED_PER_SLOT, only, fresh }
      simulateLanes(hard, lanes, how).forEach((outcome, m) => {
        p99sMs[m]!.push(outcome.p99Ms)
        if (isLate(outcome)) only.delete(outcome.model)
      })
    }
    if (!way.arrivals) continue
    hard.served.forEach(({ model, latencyMs }, m) => {
      if (mean(p99sMs[m]!) + DEVIATIONS * populationDeviation(p99sMs[m]!) > latencyMs) only.delete(model)
    })
  }
  for (const model of only) inTime.add(keys.get(model)!)
  return new Set(asked.filter((model) => !only.has(model)))
}

export function isLate({ late, requests }: QueueOutcome): boolean {
  return late > CHECKED_LATE * requests
}

function gateOf({ gate = 'latency', latencyShare, dispatch = 'split', ...traffic }: FleetOptions): FleetGate {
  assertDispatch(dispatch)
  if (gate !== 'latency' && gate !== 'tail') throw new UnknownNameError('gate', gate, ['latency', 'tail'])
  return gate === 'tail' ? { kind: gate, traffic, dispatch } : { kind: gate, latencyShare }
}

/**
 * Makes a plan. With the gate `tail`, it plans again with larger margins for the services that are late in the check,
 * until none is late. A service that is still late after eleven times is dropped, so every service of the plan was in
 * time in the check.
 *
 * @param costOf if given, smaller margins are tried as long as a plan with them may cost less
 */
export async function untilKept<Plan>(
  options: FleetOptions,
  planBy: (gate: FleetGate) => Promise<Plan>,
  lateIn: (plan: Plan) => Iterable<string>,
  costOf?: (plan: Plan) => number,
): Promise<Plan> {
  const { checkRequests = DEFAULT_CHECK_REQUESTS } = options
  assertTraffic(options)
  checkInteger('checkRequests', checkRequests, 0, MAX_REQUESTS)
  const gate = gateOf(options)
  if (gate.kind === 'latency') return planBy(gate)
  const planWith = (times: ReadonlyMap<string, number>) => planBy({ ...gate, times })
  const lateOf = (plan: Plan) => new Set(checkRequests > 0 ? lateIn(plan) : [])
  const times = new Map<string, number>()
  /** For each service that was late, the largest number of times that does not suffice. */
  const low = new Map<string, number>()
  let best = await planWith(times)
  for (let late = lateOf(best); late.size > 0; late = lateOf(best)) {
    for (const model of late) {
      const count = times.get(model) ?? 0
      low.set(model, count)
      times.set(model, count < MAX_TIMES ? count + 1 : Infinity)
    }
    best = await planWith(times)
  }
  for (const [model, count] of times) if (count === Infinity) low.delete(model)
  const tryWith = (margins: ReadonlyMap<string, number>) =>
    planWith(margins).catch((error: unknown) => {
      if ((error as PctodlError).code !== 'NO_PLAN') throw error
      return best
    })
  for (const part of costOf ? BETWEEN : []) {
    // No margins between these cost less than this.
    const least = await tryWith(new Map([...times, ...low]))
    if (costOf!(best) <= costOf!(least)) break
    const tried = new Map(times)
    for (const [model, count] of low) tried.set(model, part * count + (1 - part) * times.get(model)!)
    const plan = await tryWith(tried)
    const late = lateOf(plan)
    for (const model of low.keys()) (late.has(model) ? low : times).set(model, tried.get(model)!)
    if (late.size === 0 && costOf!(plan) < costOf!(best)) best = plan
  }
  return best
}

/** @throws PctodlError `NOT_SUPPORTED` for one queue for all instances of a service */
export function assertSplit({ dispatch }: FleetOptions): void {
  if (dispatch !== 'shared') return
  const what = 'changes and days are for a queue for each instance; leave `dispatch: shared` away'
  throw new PctodlError('NOT_SUPPORTED', what)
}

/** Plans once, with one gate. */
export async function planOnce(
  checked: CheckedFleet,
  objectives: readonly ServiceObjective[],
  how: FleetGate,
  maxIterations: number,
  then?: 'slices',
): Promise<FleetPlan> {
  checkInteger('maxIterations', maxIterations, 1)
  assertObjectives(objectives)
  // Sorted, so that the order of the objectives does not affect the plan.
  const all = [...objectives].sort((a, b) => (a.model < b.model ? -1 : 1))
  const rowsOf = (of: readonly ServiceObjective[]) => fleetRows(checked, of, how, 'best', checked.limited || !then)
  const every = rowsOf(all)
  // Services that some row serves. A service that only shared rows serve needs no row of its own.
  const can = all.filter((_, m) => every.some(({ parts }) => parts.some(({ service }) => service === m)))
  const rows = can.length === all.length ? every : rowsOf(can)
  const program = { fleet: checked, objectives: can, rows, running: [], maxIterations }
  const measured = rows.every(({ powerW }) => powerW !== undefined)
  const others = all.filter((objective) => !can.includes(objective))
  const missed = others.map((objective) => unserved(objective, checked, how, null))
  if (can.length === 0) {
    return { ...totalsOf(checked, [], can, missed, 0), lowerBoundPowerW: 0, lowerBoundSlices: 0 }
  }
  can.forEach(({ model, ratePerS }, service) => {
    const perBoard = rows.map(({ lane, parts }) => {
      const { computeSlices } = checked.groups[checked.lanes[lane]!.group]!.geometry
      return computeSlices * (parts.find((part) => part.service === service)?.ratePerS ?? 0)
    })
    if (ratePerS / perBoard.reduce((a, b) => Math.max(a, b)) > MAX_GPUS) throw tooMany(model, ratePerS)
  })
  let lowerBoundCost = 0
  let outOfWork = false
  for (const room of ROOMS) {
    const cheapest = await solveProgram({ ...program, room, goal: { kind: 'cost' } })
    if (!cheapest.instances && cheapest.infeasible) {
      if (room === 1) throw tooFew(checked)
      break
    }
    if (room === 1) lowerBoundCost = cheapest.bound
    if (!cheapest.instances) {
      outOfWork = true
      break
    }
    const most = cheapest.boards.reduce((sum, of) => of.reduce((a, b) => a + b, sum), 0)
    const ratePerS = can.reduce((sum, each) => sum + each.ratePerS, 0)
    if (most > MAX_GPUS) throw tooMany('all models', ratePerS)
    const goal = { kind: then ?? (measured ? 'watts' : 'slices'), maxCost: cheapest.value } as const
    const frugal = await solveProgram({ ...program, room, goal })
    for (const counts of frugal.instances ? [frugal, cheapest] : [cheapest]) {
      const boards = placeBoards(checked, rows, counts, null)
      if (!boards) continue
      return {
        ...totalsOf(checked, boards, can, missed, lowerBoundCost),
        lowerBoundPowerW: room === 1 && goal.kind === 'watts' && counts !== cheapest ? counts.bound : 0,
        lowerBoundSlices: room === 1 && goal.kind === 'slices' && counts !== cheapest ? counts.bound : 0,
      }
    }
  }
  const least = lowerBoundCost.toPrecision(4)
  throw new PctodlError(
    'NO_PLAN',
    outOfWork
      ? `no plan was found in ${maxIterations} iterations (none costs less than ${least}); allow more work`
      : `the boards' watts would suffice in sum, at a cost of ${least} or more, but no packing was found in which each board and node keeps its own; allow a board or a node more watts, or more boards`,
  )
}

/** @throws InvalidInputError for rates and latencies out of range, and for a model that occurs twice */
export function assertObjectives(objectives: readonly ServiceObjective[]): void {
  const seen = new Set<string>()
  for (const { model, ratePerS, latencyMs } of objectives) {
    for (const [name, value] of Object.entries({ ratePerS, latencyMs })) {
      check(isPositive(value), `objective of ${model}: ${name}`, value, 'a positive number')
    }
    check(!seen.has(model), 'objectives', model, 'one objective for each model; add the rates up')
    seen.add(model)
  }
}

function tooMany(model: string, ratePerS: number): InvalidInputError {
  return new InvalidInputError(`objective of ${model}: ratePerS`, ratePerS, `a rate that ${MAX_GPUS} boards can serve`)
}

function tooFew({ groups, powerW, limited }: CheckedFleet): PctodlError {
  const counted = (boards: number) => (Number.isFinite(boards) ? boards : 'any number of')
  const boards = groups.map((group) => `${counted(group.boards)} ${group.geometry.key}`)
  const within = Number.isFinite(powerW) ? ` within ${powerW} W` : ''
  const remedy = limited ? 'add boards or watts, or lower rates' : 'add boards or lower rates'
  return new PctodlError('TOO_FEW_GPUS', `no plan serves these rates with ${boards.join(', ')}${within}; ${remedy}`)
}

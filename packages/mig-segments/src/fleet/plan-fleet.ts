import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { assertLimits, DEFAULT_MOST_ITERATIONS, inOrder } from '../plan-segments.js'
import type { ServiceObjective } from '../profile.js'
import { assertObjective, MOST_GPUS } from '../service-demand.js'
import { patternsOf } from './board-patterns.js'
import { checkFleet, type Fleet } from './fleet.js'
import { type FleetCounts, type FleetProgram, solveFleet } from './fleet-program.js'
import { type FleetGate, fleetRows } from './fleet-rows.js'
import { type FleetBoard, placeGroup } from './place-fleet.js'

export interface FleetOptions {
  /** What keeps an objective: a batch time below a share of it (the default), or the p99 of a queue for each instance. */
  readonly gate?: 'latency' | 'tail'
  /** Of `latency`: share of an objective that computing a batch may take. Default 0.45. */
  readonly latencyShare?: number
  /** Of `tail`: variance of the gaps between requests over their squared mean. Default 1, Poisson. */
  readonly burstiness?: number
  /** Most simplex iterations of each integer program. Default 50 000; what is not proved in them shows in the bounds. */
  readonly mostIterations?: number
}

export interface FleetPlan {
  /** Boards in use. */
  readonly boards: readonly FleetBoard[]
  readonly served: readonly (ServiceObjective & { readonly capacity: number; readonly segments: number })[]
  readonly unserved: readonly (ServiceObjective & { readonly message: string })[]
  /** Sum of the prices of the boards in use. */
  readonly cost: number
  /** No plan costs less. Equal to `cost`: proved. */
  readonly lowerBoundCost: number
  /** Watts of all boards while everything runs; NaN where some were not measured. */
  readonly powerW: number
  /** No plan that costs as little draws less; 0 where watts were not measured. */
  readonly lowerBoundPowerW: number
}

/** Shares of the watts above idle boards that are tried, where what is allowed in sum does not pack. */
const ROOMS = [1, 0.97, 0.94, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5]

/**
 * Choose boards of several types, how each is split and what runs in each instance, so that all rates are covered at the least cost, then
 * with the least watts, under limits on watts of boards, nodes and the fleet. The bounds are those of the integer program,
 * whose limits on boards and nodes hold in sum; so a plan that meets them is proved best.
 *
 * @throws InvalidInputError for fleets, objectives and options out of range
 * @throws PctodlError `TOO_FEW_GPUS` where the boards or watts do not suffice, `NO_PLAN` where the work did not suffice to find one
 */
export async function planFleet(
  fleet: Fleet,
  objectives: readonly ServiceObjective[],
  { gate = 'latency', latencyShare, burstiness = 1, mostIterations = DEFAULT_MOST_ITERATIONS }: FleetOptions = {},
): Promise<FleetPlan> {
  assertLimits({ mostIterations })
  if (!(burstiness >= 0.1 && burstiness <= 100)) {
    throw new InvalidInputError('burstiness', burstiness, 'a number from 0.1 to 100; 1 is Poisson')
  }
  assertObjectives(objectives)
  const checked = checkFleet(fleet)
  const how: FleetGate =
    gate === 'tail'
      ? { kind: 'tail', burstiness }
      : { kind: 'latency', ...(latencyShare !== undefined && { latencyShare }) }
  const all = inOrder(objectives)
  const can = all.filter((objective) => fleetRows(checked, [objective], how).length > 0)
  const rows = fleetRows(checked, can, how)
  const patterns = checked.groups.map(({ geometry }) => patternsOf(geometry))
  const program: FleetProgram = { fleet: checked, objectives: can, rows, patterns, mostIterations, room: 1 }
  const models = can.map(({ model }) => model)
  const measured = rows.every(({ point }) => point.powerW !== undefined)
  const missed = all.filter((objective) => !can.includes(objective)).map((objective) => unserved(objective, gate))
  if (can.length === 0) {
    return { boards: [], served: [], unserved: missed, cost: 0, lowerBoundCost: 0, powerW: 0, lowerBoundPowerW: 0 }
  }
  can.forEach(({ model, ratePerS }, service) => {
    const own = rows.filter((row) => row.service === service)
    const perBoard = Math.max(...own.map((row) => row.ratePerS * checked.groups[row.group]!.geometry.computeSlices))
    if (ratePerS / perBoard > MOST_GPUS) throw tooMany(model, ratePerS)
  })
  let lowerBoundCost = 0
  for (const room of ROOMS) {
    const cheapest = await solveFleet({ ...program, room })
    if (cheapest === 'infeasible') {
      if (room === 1) throw tooFew(checked.limited)
      break
    }
    if (room === 1) lowerBoundCost = cheapest.bound
    if (!isFound(cheapest)) break
    const most = cheapest.boards.reduce((sum, of) => of.reduce((a, b) => a + b, sum), 0)
    if (most > MOST_GPUS)
      throw tooMany(
        'all models',
        can.reduce((sum, { ratePerS }) => sum + ratePerS, 0),
      )
    const frugal = measured ? await solveFleet({ ...program, room, leastWattsAt: cheapest.value }) : cheapest
    const found = isFound(frugal) ? [frugal, cheapest] : [cheapest]
    for (const counts of found) {
      const placed = checked.groups.map((_, g) => placeGroup(checked, g, models, rows, counts, patterns[g]!))
      if (placed.some((boards) => boards === null)) continue
      const boards = placed.flatMap((each) => each!)
      const cost = boards.reduce((sum, { group }) => sum + checked.groups[group]!.price, 0)
      return {
        boards,
        served: can.map((objective) => {
          const own = boards.flatMap(({ segments }) => segments).filter(({ model }) => model === objective.model)
          return { ...objective, segments: own.length, capacity: own.reduce((sum, { ratePerS }) => sum + ratePerS, 0) }
        }),
        unserved: missed,
        cost,
        lowerBoundCost: Math.min(cost, lowerBoundCost),
        powerW: boards.reduce((sum, { powerW }) => sum + powerW, 0),
        lowerBoundPowerW: room === 1 && measured && counts !== cheapest ? counts.bound : 0,
      }
    }
  }
  throw new PctodlError(
    'NO_PLAN',
    `no plan was found in ${mostIterations} iterations (none costs less than ${lowerBoundCost.toPrecision(4)}); allow more work, boards or watts`,
  )
}

function isFound(counts: Awaited<ReturnType<typeof solveFleet>>): counts is FleetCounts {
  return counts !== 'infeasible' && 'instances' in counts
}

function assertObjectives(objectives: readonly ServiceObjective[]): void {
  const seen = new Set<string>()
  for (const objective of objectives) {
    assertObjective(objective)
    const { model } = objective
    if (seen.has(model))
      throw new InvalidInputError('objectives', model, 'one objective for each model; add the rates up')
    seen.add(model)
  }
}

function tooMany(model: string, ratePerS: number): InvalidInputError {
  return new InvalidInputError(`${model}, rate`, ratePerS, `a rate that ${MOST_GPUS} boards can serve`)
}

function tooFew(limited: boolean): PctodlError {
  const remedy = limited ? 'add boards or watts, or lower rates' : 'add boards or lower rates'
  return new PctodlError('TOO_FEW_GPUS', `no plan serves these rates with the boards that there are; ${remedy}`)
}

function unserved(objective: ServiceObjective, gate: 'latency' | 'tail') {
  const { model, latencyMs } = objective
  const what = gate === 'tail' ? 'answers 99 of 100 requests' : 'computes a batch'
  const message = `${model}: no instance of any board of the fleet ${what} in time for ${latencyMs} ms and within its watts; ask for more, or measure smaller batches`
  return { ...objective, message }
}

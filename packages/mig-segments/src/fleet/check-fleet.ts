import { geometryOf, InvalidInputError, type MigGeometry } from '@pctodl/platform'
import type { ProfilePoint } from '../profile.js'
import type { BoardGroup, Fleet } from './fleet.js'
import { checkLanes, type Lane } from './lanes.js'

/** A group of boards with all defaults filled in. */
export interface CheckedGroup {
  readonly geometry: MigGeometry
  /** Number of boards; Infinity for as many as needed. */
  readonly boards: number
  readonly price: number
  readonly boardsPerNode: number
  readonly boardCapW: number
  readonly nodeCapW: number
}

export interface CheckedFleet {
  readonly groups: readonly CheckedGroup[]
  /** One lane for each group and SM clock of its boards. */
  readonly lanes: readonly Lane[]
  readonly powerW: number
  /** Whether any power limit is set. */
  readonly limited: boolean
}

/** A larger ratio of prices between groups counts as a typing error. It would also exceed the solver's precision. */
const MAX_PRICE_RATIO = 1e6

/**
 * Checks a fleet and fills in defaults.
 * @throws InvalidInputError for a fleet without groups, numbers out of range, and power limits without `idleW` or
 *   measured power
 * @throws UnknownNameError, PctodlError `NOT_SUPPORTED` for boards that do not exist or have no MIG
 */
export function checkFleet({ groups, powerW = Number.POSITIVE_INFINITY }: Fleet): CheckedFleet {
  if (groups.length === 0) throw new InvalidInputError('fleet.groups', groups.length, 'at least one group of boards')
  if (!(powerW > 0)) throw new InvalidInputError('fleet.powerW', powerW, 'watts above 0')
  const limited =
    Number.isFinite(powerW) ||
    groups.some(({ boardCapW, nodeCapW }) => boardCapW !== undefined || nodeCapW !== undefined)
  const checked = groups.map((group, g) => checkGroup(group, g, limited))
  const cheapest = Math.min(...checked.map(({ price }) => price))
  checked.forEach(({ price }, g) => {
    if (price <= MAX_PRICE_RATIO * cheapest) return
    const expected = `at most ${MAX_PRICE_RATIO} times the lowest price, ${cheapest}; leave dearer boards away`
    throw new InvalidInputError(`fleet.groups[${g}].price`, price, expected)
  })
  return {
    groups: checked,
    lanes: groups.flatMap((group, g) => checkLanes(group, g, checked[g]!.geometry)),
    powerW,
    limited,
  }
}

/** Index of the lane of a board; -1 if nothing was measured at its clock. */
export function laneOf(
  { groups, lanes }: CheckedFleet,
  { gpu, smClockMhz }: { readonly gpu: string; readonly smClockMhz?: number | undefined },
): number {
  return lanes.findIndex((lane) => groups[lane.group]!.geometry.key === gpu && lane.smClockMhz === smClockMhz)
}

function checkGroup(group: BoardGroup, g: number, limited: boolean): CheckedGroup {
  const { gpu, profiles, boards, price = 1, boardsPerNode = 8, idleW: idle, boardCapW, nodeCapW } = group
  const idleW = typeof idle === 'object' ? Math.max(...Object.values(idle)) : idle
  const geometry = geometryOf(gpu)
  const field = (name: keyof BoardGroup) => `fleet.groups[${g}].${name}`
  const check = (
    name: keyof BoardGroup,
    value: number | undefined,
    expected: string,
    ok: (value: number) => boolean,
  ) => {
    if (value !== undefined && !(ok(value) && Number.isFinite(value))) {
      throw new InvalidInputError(field(name), value, expected)
    }
  }
  const whole = (value: number) => Number.isInteger(value) && value >= 1
  check('boards', boards, 'an integer of at least 1', whole)
  check('boardsPerNode', boardsPerNode, 'an integer of at least 1', whole)
  check('price', price, 'a positive number', (value) => value > 0)
  if (limited && idleW === undefined) {
    const expected = 'watts of a board that waits, since the fleet has a limit on watts'
    throw new InvalidInputError(field('idleW'), idleW, expected)
  }
  check('idleW', idleW, 'watts of at least 0', (value) => value >= 0)
  const above = `watts above those of an idle board, ${idleW}`
  check('boardCapW', boardCapW, above, (value) => value > (idleW ?? 0))
  check('nodeCapW', nodeCapW, above, (value) => value > (idleW ?? 0))
  for (const { model, points } of profiles) {
    for (const point of points) {
      assertPoint(point, `${field('profiles')}, ${model}`)
      if (!limited || point.processThroughput === 0 || point.powerW !== undefined) continue
      const expected = 'measured power with each point (a sixth column, Power), since the fleet has a limit on watts'
      throw new InvalidInputError(`${field('profiles')}, ${model}`, point.powerW, expected)
    }
  }
  for (const { profile, powerW: known } of group.coRunners ?? []) {
    if (!geometry.profiles.some(({ name }) => name === profile)) {
      const names = geometry.profiles.map(({ name }) => name).join(', ')
      throw new InvalidInputError(field('coRunners'), profile, `a MIG profile of ${geometry.key}: ${names}`)
    }
    if (limited && !known) {
      const expected = 'measured power of its groups (columns power), since the fleet has a limit on watts'
      throw new InvalidInputError(`${field('coRunners')}, ${profile}`, 'no watts', expected)
    }
  }
  const orAny = (limit = Number.POSITIVE_INFINITY) => limit
  return {
    ...{ geometry, boards: orAny(boards), price, boardsPerNode },
    // A board may not draw more than the limit of its node.
    boardCapW: Math.min(orAny(boardCapW), orAny(nodeCapW)),
    nodeCapW: orAny(nodeCapW),
  }
}

/** Accepts throughput 0, which marks a point that did not run. */
function assertPoint(
  { profile, sizeGpcs, batchSize, processes, processThroughput, latencyMs, powerW }: ProfilePoint,
  field: string,
) {
  const refuse = (name: string, value: number, expected: string) => {
    throw new InvalidInputError(`${field}, ${profile ?? sizeGpcs}: ${name}`, value, expected)
  }
  for (const [name, count] of Object.entries({ batchSize, processes })) {
    if (!(Number.isInteger(count) && count >= 1)) refuse(name, count, 'an integer of at least 1')
  }
  if (!(processThroughput >= 0 && Number.isFinite(processThroughput))) {
    refuse('processThroughput', processThroughput, 'items/s of at least 0; 0 where it did not run')
  }
  if (processThroughput > 0 && !(latencyMs > 0 && Number.isFinite(latencyMs))) {
    refuse('latencyMs', latencyMs, 'a positive number of ms')
  }
  if (powerW !== undefined && !(powerW >= 0 && Number.isFinite(powerW))) {
    refuse('powerW', powerW, 'watts of at least 0 above an idle board, or nothing where they were not measured')
  }
}

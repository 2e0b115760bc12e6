import { InvalidInputError, type MigGeometry } from '@pctodl/platform'
import { geometryOf } from '../mig-geometry.js'
import type { ProfilePoint } from '../profile.js'

/** One measured way to run a network in a MIG instance of a certain profile. */
export interface FleetPoint extends Omit<ProfilePoint, 'sizeGpcs'> {
  /** MIG profile of the instance, e.g. `1g.20gb`. */
  readonly profile: string
}

/** Everything measured of one network on one type of board. */
export interface FleetProfile {
  readonly model: string
  readonly points: readonly FleetPoint[]
}

/** Boards of one type that may be used. */
export interface BoardGroup {
  /** Name of a board with MIG. */
  readonly gpu: string
  /** What was measured on this type of board. */
  readonly profiles: readonly FleetProfile[]
  /** Boards that there are. Default: as many as needed. */
  readonly boards?: number
  /** What one costs, in any unit, above 0. Default 1: boards are counted. */
  readonly price?: number
  /** Boards of a node. Default 8. */
  readonly boardsPerNode?: number
  /** Watts of a board with its instances while nothing runs on them; needed for every limit on watts. */
  readonly idleW?: number
  /** Most watts of a board. */
  readonly boardCapW?: number
  /** Most watts of the boards of a node together. */
  readonly nodeCapW?: number
}

export interface Fleet {
  readonly groups: readonly BoardGroup[]
  /** Most watts of all boards in use together. */
  readonly powerW?: number
}

/** A group with everything that it leaves out. */
export interface CheckedGroup {
  readonly geometry: MigGeometry
  readonly profiles: readonly FleetProfile[]
  /** Infinite: as many as needed. */
  readonly boards: number
  readonly price: number
  readonly boardsPerNode: number
  /** 0 where nothing limits watts. */
  readonly idleW: number
  readonly boardCapW: number
  readonly nodeCapW: number
}

export interface CheckedFleet {
  readonly groups: readonly CheckedGroup[]
  readonly powerW: number
  /** Whether any limit on watts is there. */
  readonly limited: boolean
}

/** Prices further apart than this are a typing error, and no solver could add them up. */
const MOST_PRICE_RATIO = 1e6

/**
 * @throws InvalidInputError for a fleet without groups, numbers out of range, limits on watts without `idleW` or without measured power
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
    if (price <= MOST_PRICE_RATIO * cheapest) return
    const expected = `at most ${MOST_PRICE_RATIO} times the lowest price, ${cheapest}; leave dearer boards away`
    throw new InvalidInputError(`fleet.groups[${g}].price`, price, expected)
  })
  return { groups: checked, powerW, limited }
}

function checkGroup(group: BoardGroup, g: number, limited: boolean): CheckedGroup {
  const field = (name: keyof BoardGroup) => `fleet.groups[${g}].${name}`
  const { gpu, profiles, boards, price = 1, boardsPerNode = 8, idleW, boardCapW, nodeCapW } = group
  const geometry = geometryOf(gpu)
  const whole = (value: number) => Number.isInteger(value) && value >= 1
  if (boards !== undefined && !whole(boards))
    throw new InvalidInputError(field('boards'), boards, 'an integer of at least 1')
  if (!whole(boardsPerNode))
    throw new InvalidInputError(field('boardsPerNode'), boardsPerNode, 'an integer of at least 1')
  if (!(price > 0 && Number.isFinite(price))) throw new InvalidInputError(field('price'), price, 'a positive number')
  if (limited && idleW === undefined) {
    throw new InvalidInputError(
      field('idleW'),
      idleW,
      'watts of a board that waits, since the fleet has a limit on watts',
    )
  }
  if (idleW !== undefined && !(idleW >= 0 && Number.isFinite(idleW))) {
    throw new InvalidInputError(field('idleW'), idleW, 'watts of at least 0')
  }
  for (const [name, cap] of [
    ['boardCapW', boardCapW],
    ['nodeCapW', nodeCapW],
  ] as const) {
    if (cap !== undefined && !(cap > (idleW ?? 0) && Number.isFinite(cap))) {
      throw new InvalidInputError(field(name), cap, `watts above those of an idle board, ${idleW}`)
    }
  }
  for (const { model, points } of profiles) {
    for (const point of points) {
      if (!geometry.profiles.some(({ name }) => name === point.profile)) {
        const known = geometry.profiles.map(({ name }) => name).join(', ')
        throw new InvalidInputError(
          `${field('profiles')}, ${model}`,
          point.profile,
          `a MIG profile of ${geometry.key}: ${known}`,
        )
      }
      if (limited && point.processThroughput > 0 && point.powerW === undefined) {
        throw new InvalidInputError(
          `${field('profiles')}, ${model}`,
          point.powerW,
          'measured power with each point (a sixth column, Power), since the fleet has a limit on watts',
        )
      }
    }
  }
  return {
    geometry,
    profiles,
    boards: boards ?? Number.POSITIVE_INFINITY,
    price,
    boardsPerNode,
    idleW: idleW ?? 0,
    // No board may draw more than its whole node.
    boardCapW: Math.min(boardCapW ?? Number.POSITIVE_INFINITY, nodeCapW ?? Number.POSITIVE_INFINITY),
    nodeCapW: nodeCapW ?? Number.POSITIVE_INFINITY,
  }
}

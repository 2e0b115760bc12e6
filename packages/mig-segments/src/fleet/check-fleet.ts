import { geometryOf, MAX_MPS_CLIENTS, type MigGeometry } from '@pctodl/platform'
import { check, checkInteger, isPositive } from '../check.js'
import { type InstancePoint, MAX_BATCH_SIZE, type ProfilePoint } from '../profile.js'
import type { BoardGroup, Fleet, InstanceCoRunners } from './fleet.js'

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

/** The boards of a group at one SM clock, which applies to a whole board. The plan chooses their number. */
export interface Lane {
  /** Index of the group in the fleet. */
  readonly group: number
  /** SM clock, MHz; absent if the points have no clock. */
  readonly smClockMhz?: number
  /** Idle power of one board, W; 0 if unknown. */
  readonly idleW: number
  /** Points measured at this clock. */
  readonly profiles: readonly { readonly model: string; readonly points: readonly InstancePoint[] }[]
  readonly coRunners: readonly InstanceCoRunners[]
}

export interface CheckedFleet {
  readonly groups: readonly CheckedGroup[]
  /** The lanes of all groups. */
  readonly lanes: readonly Lane[]
  readonly powerW: number
  /** Whether any power limit is set. */
  readonly limited: boolean
}

/** Maximum ratio of two prices. A larger ratio would exceed the solver's precision. */
const MAX_PRICE_RATIO = 1e6

/**
 * Checks a fleet and fills in defaults.
 *
 * @param reason why idle power and the power of points must be known; default: only if there is a power limit
 * @throws InvalidInputError for a fleet without groups, numbers out of range, and power limits without `idleW` or
 *   measured power
 * @throws UnknownNameError, PctodlError `NOT_SUPPORTED` for boards that do not exist or have no MIG
 */
export function checkFleet({ groups, powerW = Infinity }: Fleet, reason?: string): CheckedFleet {
  check(groups.length > 0, 'fleet.groups', groups.length, 'at least one group of boards')
  check(powerW === Infinity || isPositive(powerW), 'fleet.powerW', powerW, 'watts above 0')
  const limited =
    Number.isFinite(powerW) ||
    groups.some(({ boardCapW, nodeCapW }) => boardCapW !== undefined || nodeCapW !== undefined)
  const known = reason ?? (limited ? 'the fleet has a limit on watts' : undefined)
  const checked = groups.map((group, g) => checkGroup(group, `fleet.groups[${g}]`, known))
  const cheapest = Math.min(...checked.map(({ price }) => price))
  checked.forEach(({ price }, g) => {
    const expected = `at most ${MAX_PRICE_RATIO} times the lowest price, ${cheapest}; leave dearer boards away`
    check(price <= MAX_PRICE_RATIO * cheapest, `fleet.groups[${g}].price`, price, expected)
  })
  const lanes = groups.flatMap((group, g) => lanesOf(group, g, checked[g]!.geometry))
  return { groups: checked, lanes, powerW, limited }
}

/** Index of the lane of a board; -1 if nothing was measured at its clock. */
export function laneOf(
  { groups, lanes }: CheckedFleet,
  { gpu, smClockMhz }: { readonly gpu: string; readonly smClockMhz?: number | undefined },
): number {
  return lanes.findIndex((lane) => groups[lane.group]!.geometry.key === gpu && lane.smClockMhz === smClockMhz)
}

function checkGroup(group: BoardGroup, at: string, reason: string | undefined): CheckedGroup {
  const none = Infinity
  const { gpu, profiles, boards = none, price = 1, boardsPerNode = 8, boardCapW = none, nodeCapW = none } = group
  const idleW = typeof group.idleW === 'object' ? Math.max(...Object.values(group.idleW ?? {})) : group.idleW
  const geometry = geometryOf(gpu)
  if (boards !== none) checkInteger(`${at}.boards`, boards, 1)
  checkInteger(`${at}.boardsPerNode`, boardsPerNode, 1)
  check(isPositive(price), `${at}.price`, price, 'a positive number')
  const since = `, since ${reason}`
  check(!reason || idleW !== undefined, `${at}.idleW`, idleW, `watts of a board that waits${since}`)
  check(idleW === undefined || idleW === 0 || isPositive(idleW), `${at}.idleW`, group.idleW, 'watts of at least 0')
  for (const [name, capW] of Object.entries({ boardCapW, nodeCapW })) {
    check(capW > (idleW ?? 0), `${at}.${name}`, capW, `watts above those of an idle board, ${idleW}`)
  }
  const models = profiles.map(({ model }) => model)
  const twice = models.find((model, i) => models.indexOf(model) < i)
  check(twice === undefined, `${at}.profiles`, twice, 'one profile for each model')
  const measured = 'measured power with each point (a sixth column, Power)'
  for (const { model, points } of profiles) {
    for (const point of points) {
      checkPoint(point, `${at}.profiles, ${model}`)
      const known = point.processThroughput === 0 || point.powerW !== undefined
      check(!reason || known, `${at}.profiles, ${model}`, point.powerW, `${measured}${since}`)
    }
  }
  for (const { profile, powerW: known, maxMembers = 2 } of group.coRunners ?? []) {
    const names = geometry.profiles.map(({ name }) => name)
    const expected = `a MIG profile of ${geometry.key}: ${names.join(', ')}`
    check(names.includes(profile), `${at}.coRunners`, profile, expected)
    const field = `${at}.coRunners, ${profile}`
    check([2, 3, 4].includes(maxMembers), `${field}: maxMembers`, maxMembers, 'an integer from 2 to 4')
    const columns = 'measured power of its groups (columns power)'
    check(!reason || known !== undefined, field, 'no watts', `${columns}${since}`)
  }
  // A board may not draw more than the limit of its node.
  return { geometry, boards, price, boardsPerNode, boardCapW: Math.min(boardCapW, nodeCapW), nodeCapW }
}

/** Accepts throughput 0, which marks a point that did not run. */
function checkPoint(point: ProfilePoint, at: string): void {
  const { profile, sizeGpcs, batchSize, processes, processThroughput: perS, latencyMs, powerW } = point
  const field = (name: keyof ProfilePoint) => `${at}, ${profile ?? sizeGpcs}: ${name}`
  checkInteger(field('batchSize'), batchSize, 1, MAX_BATCH_SIZE)
  checkInteger(field('processes'), processes, 1, MAX_MPS_CLIENTS)
  const throughput = 'items/s of at least 0; 0 where it did not run'
  check(perS === 0 || isPositive(perS), field('processThroughput'), perS, throughput)
  check(perS === 0 || isPositive(latencyMs), field('latencyMs'), latencyMs, 'a positive number of ms')
  const watts = 'watts of at least 0 above an idle board, or nothing where they were not measured'
  check(powerW === undefined || powerW === 0 || isPositive(powerW), field('powerW'), powerW, watts)
}

/** Returns one lane for each clock at which a group was measured, the highest clock first. */
function lanesOf(
  { profiles, coRunners = [], idleW }: BoardGroup,
  group: number,
  { key, profiles: slots }: MigGeometry,
) {
  const field = (name: keyof BoardGroup) => `fleet.groups[${group}].${name}`
  const nameOf = ({ profile, sizeGpcs }: ProfilePoint, model: string): string => {
    const slot = slots.find(({ name, computeSlices }) => name === profile || (!profile && computeSlices === sizeGpcs))
    const expected = `a MIG profile of ${key}: ${slots.map(({ name }) => name).join(', ')}`
    check(slot !== undefined, `${field('profiles')}, ${model}`, profile ?? sizeGpcs, expected)
    return slot.name
  }
  const clocks = [...new Set(profiles.flatMap(({ points }) => points.map(({ smClockMhz }) => smClockMhz)))]
  clocks.sort((a, b) => (b ?? 0) - (a ?? 0))
  const without = profiles.find(({ points }) => points.some(({ smClockMhz }) => smClockMhz === undefined))
  const expected = 'an SM clock with each point (a column Clock), as other points of this board have one'
  check(clocks.length <= 1 || !without, `${field('profiles')}, ${without?.model}`, undefined, expected)
  for (const { profile, smClockMhz } of coRunners) {
    const known = `a clock of the profiles: ${clocks.map((clock) => clock ?? 'none').join(', ')} MHz`
    check(clocks.includes(smClockMhz), `${field('coRunners')}, ${profile}`, smClockMhz, known)
  }
  const idleAt = (clock: number | undefined): number => {
    if (typeof idleW !== 'object') return idleW ?? 0
    const watts = idleW[String(clock)]
    const at = clock === undefined ? 'a clock, or one number for all' : `${clock} MHz, at which there are points`
    const isKnown = watts === 0 || (watts !== undefined && isPositive(watts))
    check(isKnown, field('idleW'), watts, `watts of at least 0 at ${at}`)
    return watts
  }
  return clocks.map(
    (smClockMhz): Lane => ({
      group,
      ...(smClockMhz !== undefined && { smClockMhz }),
      idleW: idleAt(smClockMhz),
      profiles: profiles.map(({ model, points }) => {
        const own = points.filter((point) => point.smClockMhz === smClockMhz)
        return { model, points: own.map((point) => ({ ...point, profile: nameOf(point, model) })) }
      }),
      coRunners: coRunners.filter((each) => each.smClockMhz === smClockMhz),
    }),
  )
}

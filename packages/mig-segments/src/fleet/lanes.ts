import { InvalidInputError, type MigGeometry } from '@pctodl/platform'
import type { InstancePoint, ProfilePoint } from '../profile.js'
import type { BoardGroup } from './fleet.js'
import type { InstanceCoRunners } from './shared-points.js'

/**
 * Those boards of a group that run at one SM clock. A clock applies to a whole board, so all instances of a board
 * belong to one lane. A plan chooses how many boards each lane has.
 */
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

/**
 * Returns one lane for each clock at which a group was measured, the highest clock first.
 *
 * @throws InvalidInputError if only some points have a clock, or if co-runners or idle power do not match a clock
 */
export function checkLanes({ profiles, coRunners = [], idleW }: BoardGroup, g: number, geometry: MigGeometry): Lane[] {
  const field = (name: keyof BoardGroup) => `fleet.groups[${g}].${name}`
  const nameOf = ({ profile, sizeGpcs }: ProfilePoint, model: string): string => {
    const slot = geometry.profiles.find(({ name, computeSlices }) =>
      profile === undefined ? computeSlices === sizeGpcs : name === profile,
    )
    if (slot) return slot.name
    const known = geometry.profiles.map(({ name }) => name).join(', ')
    const expected = `a MIG profile of ${geometry.key}: ${known}`
    throw new InvalidInputError(`${field('profiles')}, ${model}`, profile ?? sizeGpcs, expected)
  }
  const points = profiles.flatMap((profile) => profile.points.map((point) => ({ model: profile.model, point })))
  const clocks = [...new Set(points.map(({ point }) => point.smClockMhz))].sort((a, b) => (b ?? 0) - (a ?? 0))
  if (clocks.length > 1 && clocks.includes(undefined)) {
    const { model } = points.find(({ point }) => point.smClockMhz === undefined)!
    throw new InvalidInputError(
      `${field('profiles')}, ${model}`,
      undefined,
      'an SM clock with each point (a column Clock), as other points of this board have one',
    )
  }
  for (const { profile, smClockMhz } of coRunners) {
    if (clocks.includes(smClockMhz)) continue
    const known = clocks.map((clock) => clock ?? 'none').join(', ')
    throw new InvalidInputError(
      `${field('coRunners')}, ${profile}`,
      smClockMhz,
      `a clock of the profiles: ${known} MHz`,
    )
  }
  const idleAt = (clock: number | undefined): number => {
    if (typeof idleW !== 'object') return idleW ?? 0
    const watts = idleW[String(clock)]
    if (watts !== undefined && watts >= 0 && Number.isFinite(watts)) return watts
    const at = clock === undefined ? 'a clock, or one number for all' : `${clock} MHz, at which there are points`
    throw new InvalidInputError(field('idleW'), watts, `watts of at least 0 at ${at}`)
  }
  return clocks.map((smClockMhz) => ({
    group: g,
    ...(smClockMhz !== undefined && { smClockMhz }),
    idleW: idleAt(smClockMhz),
    profiles: profiles.map((profile) => ({
      model: profile.model,
      points: profile.points
        .filter((point) => point.smClockMhz === smClockMhz)
        .map((point) => ({ ...point, profile: nameOf(point, profile.model) })),
    })),
    coRunners: coRunners.filter((each) => each.smClockMhz === smClockMhz),
  }))
}

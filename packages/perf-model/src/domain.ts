import type { Configuration } from '@pctodl/platform'
import type { FittedProfile, Mix } from './parameters.js'

/** One field of a configuration whose value the fitted rows do not cover, or the board does not support. */
export interface OutsideProfile {
  /** Path of the field, e.g. `tenants[1].batchSize`. */
  readonly field: string
  readonly value: number | string
  /** Range that the rows cover or the board supports, as text. */
  readonly covered: string
  /** Set if the limit is the board's, not the rows': such a configuration can never be measured. */
  readonly limit?: 'board'
}

/** Whether a prediction interpolates between measured configurations or goes beyond them. */
export interface Domain {
  readonly inside: boolean
  /** Fields whose values are not covered; empty if `inside`. */
  readonly outside: readonly OutsideProfile[]
  /** Same as `Prediction.distance`; Infinity if nothing can be predicted. */
  readonly distance: number
}

/** Describes an `OutsideProfile` in one line of text. */
export function describeOutside({ field, value, covered, limit }: OutsideProfile): string {
  return limit === 'board'
    ? `beyond the board: ${field} is ${value}, ${covered}`
    : `outside the profile: ${field} is ${value}, measured were ${covered}`
}

/** Compare a configuration field by field with the ranges that a fit's rows covered. */
export function outsideOf(
  profile: FittedProfile,
  { tenants, smClockMhz, memClockMhz }: Configuration,
): OutsideProfile[] {
  const outside: OutsideProfile[] = []
  const compare = (field: string, value: number, [least, most]: readonly [number, number]): void => {
    if (!(value >= least && value <= most)) outside.push({ field, value, covered: `${least} to ${most}` })
  }
  const clocks = profile.smClockMhz.find((entry) => entry.memClockMhz === memClockMhz)
  if (clocks) compare('smClockMhz', smClockMhz, clocks.range)
  else {
    const covered = profile.smClockMhz.map((entry) => entry.memClockMhz).join(', ')
    outside.push({ field: 'memClockMhz', value: memClockMhz, covered })
  }
  tenants.forEach(({ model, mpsPercent, batchSize }, i) => {
    const network = profile.networks.find((entry) => entry.name === model)
    if (network === undefined) {
      const covered = profile.networks.map((entry) => entry.name).join(', ')
      outside.push({ field: `tenants[${i}].model`, value: model, covered })
      return
    }
    compare(`tenants[${i}].mpsPercent`, mpsPercent, network.mpsPercent)
    compare(`tenants[${i}].batchSize`, batchSize, network.batchSize)
    if (i === tenants.findIndex((tenant) => tenant.model === model))
      compare('tenants.length', tenants.length, network.tenants)
  })
  const [first] = tenants
  if (first === undefined) return outside
  const like = tenants.every((tenant) => tenant.mpsPercent === first.mpsPercent && tenant.batchSize === first.batchSize)
  const mix = mixOf(
    like,
    tenants.some(({ model }) => model !== first.model),
  )
  if (!profile.mixes.includes(mix)) outside.push({ field: 'tenants', value: mix, covered: profile.mixes.join(', ') })
  return outside
}

export function mixOf(like: boolean, severalNetworks: boolean): Mix {
  if (severalNetworks) return 'several networks'
  return like ? 'like tenants' : 'unlike tenants'
}

import { InvalidInputError } from '@pctodl/platform'
import type { ServiceProfile } from '../profile.js'
import type { PlannedGpu } from '../segment-plan.js'

/** What a board may draw. */
export interface PowerCap {
  /** Most watts of a board. */
  readonly boardW: number
  /** Watts of a board with its instances while nothing runs on them. */
  readonly idleW: number
}

/**
 * Profiles without the points that alone would draw more than a board may.
 *
 * @throws InvalidInputError for a cap that is none, for points without measured power, and for a network whose every point is above
 * the cap
 */
export function profilesWithinCap(profiles: readonly ServiceProfile[], { boardW, idleW }: PowerCap): ServiceProfile[] {
  if (!(idleW >= 0 && Number.isFinite(idleW)))
    throw new InvalidInputError('powerCap.idleW', idleW, 'watts of at least 0')
  if (!(boardW > idleW && Number.isFinite(boardW))) {
    throw new InvalidInputError('powerCap.boardW', boardW, `watts above those of an idle board, ${idleW}`)
  }
  const unmeasured = profiles.filter(({ points }) =>
    points.some(({ processThroughput, powerW }) => processThroughput > 0 && powerW === undefined),
  )
  if (unmeasured.length > 0) {
    const names = unmeasured.map(({ model }) => model).join(', ')
    throw new InvalidInputError(
      'powerCap',
      boardW,
      `measured power of ${names}: a sixth column, Power, in the profiles`,
    )
  }
  return profiles.map(({ model, points }) => {
    const within = points.filter(
      ({ processThroughput, powerW }) => processThroughput === 0 || powerW! <= boardW - idleW,
    )
    if (points.some(ran) && !within.some(ran)) {
      const least = Math.min(...points.filter(ran).map(({ powerW }) => powerW!)) + idleW
      throw new InvalidInputError(
        'powerCap.boardW',
        boardW,
        `at least ${least.toFixed(0)} W, what ${model} alone draws`,
      )
    }
    return { model, points: within }
  })
}

function ran({ processThroughput }: ServiceProfile['points'][number]): boolean {
  return processThroughput > 0
}

/** Watts of a board whose every process runs; NaN where the power of a segment is not known. */
export function boardPowerW({ segments }: Pick<PlannedGpu, 'segments'>, idleW: number): number {
  return segments.reduce((sum, { powerW = Number.NaN }) => sum + powerW, idleW)
}

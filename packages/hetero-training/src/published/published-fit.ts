import { InvalidInputError } from '@pctodl/platform'
import type { GpuProfile } from '../profile/gpu-profile.js'
import { isLocked } from '../profile/setting.js'
import { fitQuadratic, type Quadratic } from './quadratic-fit.js'

/** The published model of one GPU under one power limit: window time and mean power as parabolas of the batch size. */
export interface PublishedCurve {
  readonly powerLimitW: number
  readonly timeS: Quadratic
  readonly powerW: Quadratic
}

/**
 * One curve per limit, in the order in which the file lists the limits: ties of the published search depend on it.
 *
 * @throws InvalidInputError for a limit with fewer than three batch sizes
 */
export function fitPublishedCurves({ name, rows: all }: GpuProfile): PublishedCurve[] {
  // The published search knows no locked clocks.
  const rows = all.filter((row) => !isLocked(row))
  const limits = [...new Set(rows.map(({ powerLimitW }) => powerLimitW))]
  return limits.map((powerLimitW) => {
    const ofLimit = rows.filter((row) => row.powerLimitW === powerLimitW)
    if (new Set(ofLimit.map(({ batchSize }) => batchSize)).size < 3) {
      throw new InvalidInputError(
        `${name}, ${powerLimitW} W: batch sizes`,
        ofLimit.length,
        'at least three for a parabola',
      )
    }
    const batches = ofLimit.map(({ batchSize }) => batchSize)
    return {
      powerLimitW,
      timeS: fitQuadratic(
        batches,
        ofLimit.map(({ timeS }) => timeS),
      ),
      powerW: fitQuadratic(
        batches,
        ofLimit.map(({ timeS, energyJ }) => energyJ / timeS),
      ),
    }
  })
}

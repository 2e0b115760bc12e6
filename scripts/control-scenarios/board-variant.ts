import { type BoardPhysics, type BoardVariant, findBoardVariant, physicsOfBoard } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'

export interface CaseBoard {
  /** The board that ships, or a variant of it with its own host. */
  readonly board: string | BoardVariant
  readonly physics: BoardPhysics
}

export interface VariantOptions {
  /** 0: the board that ships; else that of `boardVariants`: other equations and coefficients that fit the measurements as well. */
  readonly variant: number
  /** Spread of what an operation, a busy SM and leakage cost, percent: uniform, each on its own. */
  readonly siliconPercent: number
  /** Warmer than the calibrated board's room, K. */
  readonly warmerK: number
  /** Share of the limit that the firmware regulates to; null keeps what the board does. */
  readonly limitFactor: number | null
}

/**
 * A board of the family: the same type, other silicon. Its sensor has no gain error, so that true watts and the watts that the
 * board reads are the same, and a run can be judged by either; errors of the sensor are scenarios of their own.
 */
export function boardVariant(
  board: string,
  seed: number,
  { variant, siliconPercent, warmerK, limitFactor }: VariantOptions,
): CaseBoard {
  const other = variant === 0 ? null : findBoardVariant(`${board}~v${variant}`)
  const random = new SeededRandom(seedFrom(board, seed, 'variant'))
  const spread = () => 1 + (siliconPercent / 100) * (2 * random.uniform() - 1)
  const physics = other?.physics ?? physicsOfBoard(board)
  const { power, thermal, firmware, sensor } = physics
  const common = spread()
  const drawn: BoardPhysics = {
    ...physics,
    power: {
      ...power,
      boardW: power.boardW * spread(),
      leakageW: power.leakageW * spread() ** 2,
      clockTreeW: power.clockTreeW * common,
      busySmW: power.busySmW * common,
      flopPj: power.flopPj * common,
      l2BytePj: power.l2BytePj * common,
      dramBytePj: power.dramBytePj * spread(),
      voltageFloor: Math.min(0.95, power.voltageFloor * (1 + (spread() - 1) / 3)),
    },
    thermal: { ...thermal, ambientC: thermal.ambientC + warmerK },
    firmware: limitFactor === null ? firmware : { ...firmware, margin: 1 - limitFactor },
    sensor: { ...sensor, gainSigma: 0, offsetSigmaW: 0 },
  }
  return { board: other ?? board, physics: drawn }
}

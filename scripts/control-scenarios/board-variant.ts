import { type BoardPhysics, type BoardVariant, findBoardVariant, physicsOfBoard } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'

export interface CaseBoard {
  /** The shipped board, or a variant of it with its own host. */
  readonly board: string | BoardVariant
  readonly physics: BoardPhysics
}

export interface VariantOptions {
  /**
   * 0 is the shipped board. Other numbers are variants of `boardVariants`, whose equations and coefficients fit the
   * measurements equally well.
   */
  readonly variant: number
  /**
   * Spread of the power of an operation, of a busy SM and of leakage, percent. The three are independent and uniformly
   * distributed.
   */
  readonly siliconPercent: number
  /** Temperature of the room above the calibrated board's room, K. */
  readonly warmerK: number
  /** Share of the power limit to which the firmware regulates; null keeps the board's own value. */
  readonly limitFactor: number | null
}

/**
 * A board of the same type with other silicon. Its sensor has no gain error, so that true watts and sensor watts agree
 * and a run can be judged by either. Sensor errors are separate scenarios.
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

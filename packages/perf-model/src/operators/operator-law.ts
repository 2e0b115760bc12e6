import type { OperatorBoard } from './operator-board.js'
import { type Operator, type OperatorWork, peakFlops } from './operator-work.js'

/**
 * A fitted linear function of the first traits, clamped to the range of the fitted values. The first weight is the
 * constant.
 */
export interface LinearLaw {
  readonly weights: readonly number[]
  readonly range: readonly [lowest: number, highest: number]
}

export function evaluateLaw({ weights, range: [lowest, highest] }: LinearLaw, traits: readonly number[]): number {
  let sum = weights[0]!
  for (let i = 1; i < weights.length; i++) sum += weights[i]! * traits[i - 1]!
  return Math.min(highest, Math.max(lowest, sum))
}

/** Predicted time at the default clocks and power limit, s. */
export function lawTime(law: LinearLaw, work: OperatorWork): number {
  return work.baseS * Math.exp(evaluateLaw(law, work.traits))
}

/** Number of leading inputs of the power law that depend on no shape. */
export const shapelessTraits = 11

/** Inputs of the power law: use of the peaks, duration, and shape of the operator. */
export function powerTraits({ dtype }: Operator, work: OperatorWork, board: OperatorBoard, seconds: number): number[] {
  const flop = work.flop / seconds / peakFlops(board, dtype)
  const bytes = work.bytes / seconds / (board.bandwidthTBs * 1e12)
  const time = Math.log(seconds / 1e-3)
  const [compute, memory] = [Math.log(work.computeS / seconds), Math.log(work.memoryS / seconds)]
  const use = [flop, bytes, Math.sqrt(flop), Math.sqrt(bytes), flop * bytes, flop ** 2, bytes ** 2]
  return [...use, time, Math.max(0, time), compute, memory, ...work.traits]
}

/** Predicted power at the default clocks and power limit, W. */
export function lawPower(law: LinearLaw, traits: readonly number[], board: OperatorBoard): number {
  return Math.min(1, Math.exp(evaluateLaw(law, traits))) * board.powerLimitW
}

/**
 * A constant, and the use of the peaks by an operator with these power traits. The weights are not negative, so more use
 * never draws less: on other boards, both peaks may be used at once more than on the measured one.
 */
export function usageTraits({ kind, dtype }: Operator, [, , flop, bytes]: readonly number[]): number[] {
  // Tensor cores wait while other units scale the blocks: both measured boards draw less at the same use of the peaks.
  return kind === 'gemm' && dtype === 'fp8_block' ? [1, bytes!, 0, flop!] : [1, bytes!, flop!, 0]
}

/** Power predicted from the use of the peaks alone, W. The weights are those of `usageTraits`. */
export function usagePower(weights: readonly number[], traits: readonly number[], board: OperatorBoard): number {
  return (
    Math.min(
      1,
      weights.reduce((sum, weight, i) => sum + weight * traits[i]!, 0),
    ) * board.powerLimitW
  )
}

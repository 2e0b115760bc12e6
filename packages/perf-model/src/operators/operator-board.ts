import { UnknownNameError } from '@pctodl/platform'

/** What the operator model knows of a board: peaks and limits of its data sheet. */
export interface OperatorBoard {
  readonly name: string
  /** Board whose fitted operators stand for this one; itself where it was measured. */
  readonly measuredAs: string
  /** Dense peaks of FP16, FP8, INT8 and FP4 products, TFLOP/s; 0 where there is none. */
  readonly peakTflops: readonly [half: number, fp8: number, int8: number, fp4: number]
  readonly bandwidthTBs: number
  readonly memoryGiB: number
  readonly smCount: number
  readonly boostClockMhz: number
  readonly lowestClockMhz: number
  readonly powerLimitW: number
  /** Board power while it waits at its operating clocks, assumed, W. */
  readonly idleW: number
}

type Facts = [string, string, OperatorBoard['peakTflops'], number, number, number, number, number, number, number]

const facts: readonly Facts[] = [
  ['H200', 'H200', [989, 1978, 1978, 0], 4.8, 141, 132, 1980, 345, 700, 120],
  ['H100', 'H100', [989, 1978, 1978, 0], 3.35, 80, 132, 1980, 345, 700, 110],
  ['A100', 'A100', [312, 0, 624, 0], 2.039, 80, 108, 1410, 210, 400, 80],
  ['L40S', 'L40S', [362, 733, 733, 0], 0.864, 45, 142, 2520, 210, 350, 60],
  ['GB200', 'GB200', [2500, 5000, 5000, 10000], 8, 185, 152, 2062, 345, 1200, 200],
  ['B200', 'GB200', [2250, 4500, 4500, 9000], 8, 180, 148, 1965, 345, 1000, 180],
  ['RTX PRO 6000', 'RTX_PRO_6000', [468, 936, 936, 1871], 1.792, 96, 188, 2430, 180, 600, 60],
  ['RTX 5090', 'RTX_PRO_6000', [209, 419, 838, 1676], 1.792, 32, 170, 2407, 180, 575, 50],
  ['RTX 4090', 'L40S', [165, 330, 661, 0], 1.008, 24, 128, 2520, 210, 450, 45],
  ['RTX 3090', 'A100', [71, 0, 284, 0], 0.936, 24, 82, 1695, 210, 350, 100],
]

/** The boards of the operator model, by name. */
export const operatorBoards: readonly OperatorBoard[] = facts.map(
  ([
    name,
    measuredAs,
    peakTflops,
    bandwidthTBs,
    memoryGiB,
    smCount,
    boostClockMhz,
    lowestClockMhz,
    powerLimitW,
    idleW,
  ]) => ({
    name,
    measuredAs,
    peakTflops,
    bandwidthTBs,
    memoryGiB,
    smCount,
    boostClockMhz,
    lowestClockMhz,
    powerLimitW,
    idleW,
  }),
)

const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** @throws UnknownNameError listing the boards that exist */
export function findOperatorBoard(name: string): OperatorBoard {
  const found = operatorBoards.find((board) => plain(board.name) === plain(name))
  if (found === undefined)
    throw new UnknownNameError(
      'GPU',
      name,
      operatorBoards.map((board) => board.name),
    )
  return found
}

import { InvalidInputError } from '@pctodl/platform'
import type { OperatorBoard } from './operator-board.js'
import { type LinearLaw, lawPower, lawTime, powerTraits, usageTraits } from './operator-law.js'
import { type Operator, type OperatorWork, operatorWork, peakFlops, smoothMax } from './operator-work.js'
import parameters from './parameters.json'

const laws: Readonly<Record<string, { readonly time: LinearLaw; readonly power?: LinearLaw }>> =
  parameters.laws as never
const usage: Readonly<Record<string, LinearLaw>> = parameters.usage as never
/** Serving backends whose kernels were measured, in order of preference. */
const backends = ['vllm', 'trtllm'] as const

/** Assumed energy per byte of memory traffic, pJ. */
const memoryPjPerByte = 45
/**
 * Lower bound of the relative voltage. It and `voltageSlope` are fitted to an RTX 3090 under power limits
 * (`scripts/check-language-models.ts`).
 */
const voltageFloor = 0.8
/** Decrease of the relative voltage per unit of relative clock. */
const voltageSlope = 1.3

/** Time and board power of one operator. */
export interface OperatorCost {
  readonly seconds: number
  readonly watts: number
}

/** An operator with its cost on a board; `at` returns the cost at any clock. */
export interface CostedOperator {
  readonly work: OperatorWork
  readonly atDefault: OperatorCost
  /** Board whose measured power is used instead; null if this board's own power was measured. */
  readonly wattsFrom: string | null
  /** @param clock as a fraction of the board's default clock */
  at(clock: number): OperatorCost
}

/**
 * Cost an operator on a board.
 *
 * @throws InvalidInputError if the operator was not measured in this format on the board
 */
export function costOperator(operator: Operator, board: OperatorBoard, software: string = backends[0]): CostedOperator {
  const { kind, dtype } = operator
  const tail = `${kind} ${dtype}${'kvDtype' in operator ? ` ${operator.kvDtype}` : ''}`
  const find = (has: (law: (typeof laws)[string]) => boolean) =>
    [software, ...backends]
      .map((backend) => laws[`${board.measuredAs} ${backend} ${tail}`])
      .find((law) => law !== undefined && has(law))
  const time = peakFlops(board, dtype) > 0 ? find(() => true)?.time : undefined
  if (time === undefined) {
    const known = Object.keys(laws).filter((key) => key.startsWith(`${board.measuredAs} `) && key.includes(` ${kind} `))
    const formats = new Set(known.map((key) => key.split(' ')[3] as Operator['dtype']))
    const usable = [...formats].filter((format) => peakFlops(board, format) > 0)
    throw new InvalidInputError('dtype', dtype, `${usable.join(' or ')} for ${kind} on ${board.name}`)
  }
  const work = operatorWork(operator, board)
  const seconds = lawTime(time, work)
  const traits = powerTraits(work, dtype, board, seconds)
  const own = find((law) => law.power !== undefined)?.power
  const from = board.measuredAs in usage ? board.measuredAs : board.measuredAs === 'RTXPRO6000' ? 'GB200' : 'H200'
  const watts = own ? lawPower(own, traits, board) : lawPower(usage[from]!, traits.slice(0, usageTraits), board)
  const atDefault = { seconds, watts: Math.max(watts, board.idleW) }
  return {
    work,
    atDefault,
    wattsFrom: from === board.name ? null : from,
    at: (clock) => atClock(atDefault, work, board, clock),
  }
}

/**
 * Scale a cost to a lower clock. The SMs work longer, at a lower voltage. Memory keeps its speed and its energy per
 * byte.
 */
export function atClock(
  atDefault: OperatorCost,
  work: OperatorWork,
  board: OperatorBoard,
  clock: number,
): OperatorCost {
  const { computeS, memoryS } = work
  const seconds = (atDefault.seconds * smoothMax(computeS / clock, memoryS)) / smoothMax(computeS, memoryS)
  const energyJ = (atDefault.watts - board.idleW) * atDefault.seconds
  const memoryJ = Math.min(0.6 * energyJ, memoryPjPerByte * 1e-12 * work.bytes)
  const voltage = Math.max(voltageFloor, 1 - voltageSlope * (1 - clock))
  return { seconds, watts: board.idleW + ((energyJ - memoryJ) * voltage ** 2 + memoryJ) / seconds }
}

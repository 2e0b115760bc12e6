import { InvalidInputError } from '@pctodl/platform'
import type { OperatorBoard } from './operator-board.js'
import { type LinearLaw, lawPower, lawTime, powerTraits } from './operator-law.js'
import { type Operator, type OperatorWork, operatorWork, peakFlops, smoothMax } from './operator-work.js'
import parameters from './parameters.json'

const laws = parameters.laws as unknown as Readonly<Record<string, { readonly time: LinearLaw; readonly power?: LinearLaw }>>
/** Software whose kernels were measured, the first one preferred. */
const backends = ['vllm', 'trtllm'] as const

/** Energy of a byte from memory, and the part of the top clock below which the voltage no longer falls: assumed. */
const memoryPjPerByte = 45
const voltageFloor = 0.7
const voltageSlope = 0.75

/** Time and board power of one operator, at its board's default clocks and limit or below them. */
export interface OperatorCost {
  readonly seconds: number
  readonly watts: number
}

/** An operator on a board, costed once: `at` answers for any clock. */
export interface CostedOperator {
  readonly work: OperatorWork
  readonly atDefault: OperatorCost
  /** Board whose measured watts stand for this one's; null where they were measured. */
  readonly wattsFrom: string | null
  /** @param clock as a part of the clock that the board runs at by default */
  at(clock: number): OperatorCost
}

/** @throws InvalidInputError where no measurement says how long the operator takes on the board in this format */
export function costOperator(operator: Operator, board: OperatorBoard, software: string = backends[0]): CostedOperator {
  const { kind, dtype } = operator
  const tail = `${kind} ${dtype}${'kvDtype' in operator ? ` ${operator.kvDtype}` : ''}`
  const find = (from: string, ending: string, has: (law: (typeof laws)[string]) => boolean) =>
    [software, ...backends].map((backend) => laws[`${from} ${backend} ${ending}`]).find((law) => law !== undefined && has(law))
  const time = peakFlops(board, dtype) > 0 ? find(board.measuredAs, tail, () => true)?.time : undefined
  if (time === undefined) {
    const known = Object.keys(laws).filter((key) => key.startsWith(`${board.measuredAs} `) && key.includes(` ${kind} `))
    const formats = [...new Set(known.map((key) => key.split(' ')[3]!))]
    throw new InvalidInputError('dtype', dtype, `${formats.join(' or ')} for ${kind} on ${board.name}`)
  }
  const work = operatorWork(operator, board)
  const seconds = lawTime(time, work)
  const donor = [board.measuredAs, ...(board.measuredAs === 'RTX_PRO_6000' ? ['GB200', 'H200'] : ['H200', 'GB200'])]
    .flatMap((from) => [tail, tail.replace(dtype, 'bfloat16'), tail.replace(dtype, 'fp8_block')].map((ending) => ({ from, ending })))
    .map(({ from, ending }) => ({ from, power: find(from, ending, (law) => law.power !== undefined)?.power }))
    .find(({ power }) => power !== undefined)!
  const watts = lawPower(donor.power!, powerTraits(work, dtype, board, seconds), board)
  const atDefault = { seconds, watts: Math.max(watts, board.idleW) }
  return {
    work,
    atDefault,
    wattsFrom: donor.from === board.name ? null : donor.from,
    at: (clock) => atClock(atDefault, work, board, clock),
  }
}

/** The clock stretches what the SMs do and lowers their voltage; the memory keeps its pace and its energy per byte. */
export function atClock(atDefault: OperatorCost, work: OperatorWork, board: OperatorBoard, clock: number): OperatorCost {
  const { computeS, memoryS } = work
  const seconds = (atDefault.seconds * smoothMax(computeS / clock, memoryS)) / smoothMax(computeS, memoryS)
  const energyJ = (atDefault.watts - board.idleW) * atDefault.seconds
  const memoryJ = Math.min(0.6 * energyJ, memoryPjPerByte * 1e-12 * work.bytes)
  const voltage = voltageAt(clock) / voltageAt(1)
  return { seconds, watts: board.idleW + ((energyJ - memoryJ) * voltage ** 2 + memoryJ) / seconds }
}

function voltageAt(clock: number): number {
  return Math.max(voltageFloor, 1 - voltageSlope * (1 - clock))
}

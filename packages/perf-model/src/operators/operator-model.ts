import { InvalidInputError } from '@pctodl/platform'
import type { OperatorBoard } from './operator-board.js'
import { type LinearLaw, lawPower, lawTime, powerTraits, usagePower, usageTraits } from './operator-law.js'
import { type Operator, type OperatorWork, operatorWork, peakFlops, smoothMax } from './operator-work.js'
import parameters from './parameters.json'

const laws: Readonly<Record<string, { readonly time?: LinearLaw; readonly power?: LinearLaw }>> =
  parameters.laws as never
const usage: Readonly<Record<string, readonly number[]>> = parameters.usage
/** Serving backends whose kernels were measured, in order of preference. */
const backends = ['vllm', 'trtllm'] as const

/**
 * Boards whose power was measured by passes of a language model (`evidence/`): energy per FLOP and per byte, pJ. A
 * narrower format is assumed to draw as much at the same fraction of its peak.
 */
const measuredEnergy: Readonly<Record<string, MeasuredEnergy>> = {
  H100: { perFlop: 1.4, perByte: 131, boostMhz: 1980, voltageSlope: 0.8, voltageFloor: 0.72 },
}
interface MeasuredEnergy extends VoltageCurve {
  readonly perFlop: number
  readonly perByte: number
  /** Clock of these energies, MHz. */
  readonly boostMhz: number
}
interface VoltageCurve {
  /** Decrease of the relative voltage per unit of relative clock. */
  readonly voltageSlope: number
  /** Lower bound of the relative voltage. That of the H100 is assumed to equal the A100's. */
  readonly voltageFloor: number
}
const relativeVoltage = (clock: number, { voltageSlope, voltageFloor }: VoltageCurve) =>
  Math.max(voltageFloor, 1 - voltageSlope * (1 - clock))
/** Assumed energy per byte that does not depend on the SM clock, pJ. */
const memoryPjPerByte = 45
/** Voltage of boards without `measuredEnergy`: fitted to an RTX 3090 under power limits (`scripts/check-language-models.ts`). */
const rtx3090 = { voltageSlope: 1.3, voltageFloor: 0.8 }
/** Board with the same chip. */
const chipOf = ({ measuredAs }: OperatorBoard) => (measuredAs === 'H200' ? 'H100' : measuredAs)

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
  const find = (field: 'time' | 'power') =>
    [software, ...backends]
      .map((backend) => laws[`${board.measuredAs} ${backend} ${tail}`]?.[field])
      .find((law) => law !== undefined)
  const time = peakFlops(board, dtype) > 0 ? find('time') : undefined
  if (time === undefined) {
    const known = Object.keys(laws).filter((key) => key.startsWith(`${board.measuredAs} `) && key.includes(` ${kind} `))
    const formats = new Set(known.map((key) => key.split(' ')[3] as Operator['dtype']))
    const usable = [...formats].filter((format) => peakFlops(board, format) > 0)
    throw new InvalidInputError('dtype', dtype, `${usable.join(' or ')} for ${kind} on ${board.name}`)
  }
  const work = operatorWork(operator, board)
  const seconds = lawTime(time, work)
  const { watts, from } = powerOf()
  const atDefault = { seconds, watts: Math.max(watts, board.idleW) }
  return {
    work,
    atDefault,
    wattsFrom: from === board.name ? null : from,
    at: (clock) => atClock(atDefault, work, board, clock),
  }

  function powerOf(): { watts: number; from: string } {
    const { measuredAs } = board
    const traits = powerTraits(operator, work, board, seconds)
    const own = find('power')
    if (own) return { watts: lawPower(own, traits, board), from: measuredAs }
    const energy = measuredEnergy[measuredAs]
    if (energy) {
      const perFlop = (energy.perFlop * peakFlops(board, 'bfloat16')) / peakFlops(board, dtype)
      const volts = relativeVoltage(board.boostClockMhz / energy.boostMhz, energy)
      const joules = 1e-12 * volts ** 2 * (perFlop * work.flop + energy.perByte * work.bytes)
      return { watts: board.idleW + joules / seconds, from: measuredAs }
    }
    const from = measuredAs in usage ? measuredAs : measuredAs === 'RTXPRO6000' ? 'GB200' : 'H200'
    return { watts: usagePower(usage[from]!, usageTraits(operator, traits), board), from }
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
  const voltage = relativeVoltage(clock, measuredEnergy[chipOf(board)] ?? rtx3090)
  return { seconds, watts: board.idleW + ((energyJ - memoryJ) * voltage ** 2 + memoryJ) / seconds }
}

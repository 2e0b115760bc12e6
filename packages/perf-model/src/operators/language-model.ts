import type { Decoder, DecoderOperator, DecoderPass } from '@pctodl/model-zoo'
import { InvalidInputError } from '@pctodl/platform'
import type { OperatorBoard } from './operator-board.js'
import { atClock, type CostedOperator, costOperator } from './operator-model.js'
import {
  denseDtype,
  type Operator,
  type OperatorDtype,
  type OperatorWork,
  peakFlops,
  weightBytes,
} from './operator-work.js'

/** Functions of `@pctodl/model-zoo`, passed in so that this module does not depend on that package. */
export type DecoderGraphs = Pick<
  typeof import('@pctodl/model-zoo'),
  'decoderOperators' | 'decoderParameters' | 'kvCacheBytes'
>

/** Time, power and energy of one pass through a model on one board. */
export interface PassEstimate {
  readonly smClockMhz: number
  readonly seconds: number
  readonly watts: number
  readonly energyJ: number
}

/** One prefill or decode step on a board, at each SM clock up to the default one. */
export class LanguageModelPass {
  /** Estimates with rising clock. */
  readonly estimates: readonly PassEstimate[]
  /** Boards whose measured power stands in for this board's. */
  readonly wattsFrom: readonly string[]

  /**
   * @throws InvalidInputError for a number format that was not measured on the board, or that the model cannot have
   */
  constructor(graphs: DecoderGraphs, decoder: Decoder, pass: DecoderPass, board: OperatorBoard, dtype: OperatorDtype) {
    if (decoder.experts === null && denseDtype(dtype) !== dtype)
      throw new InvalidInputError('dtype', dtype, 'a format for models without experts')
    const operators = graphs.decoderOperators(decoder, pass).map((operator) => ({
      ...costed(operator, board, dtype),
      count: operator.count,
    }))
    this.wattsFrom = operators.flatMap(({ wattsFrom }) => wattsFrom ?? [])
    const { smClocksMhz, boostClockMhz } = board
    const clocks = smClocksMhz.filter((clock) => clock <= boostClockMhz)
    this.estimates = clocks.map((smClockMhz) => {
      let [seconds, energyJ] = [0, 0]
      for (const { at, count } of operators) {
        const cost = at(smClockMhz / boostClockMhz)
        seconds += count * cost.seconds
        energyJ += count * cost.seconds * cost.watts
      }
      return { smClockMhz, seconds, energyJ, watts: energyJ / seconds }
    })
  }

  /** The fastest estimate within the cap; null if the power exceeds the cap even at the lowest clock. */
  within(capW: number): PassEstimate | null {
    return this.estimates.findLast(({ watts }) => watts <= capW) ?? null
  }

  /**
   * The estimate with minimum energy among those within the cap that take at most `seconds`; null if there is none.
   */
  minEnergy(capW: number, seconds: number): PassEstimate | null {
    const found = this.estimates.filter((each) => each.watts <= capW && each.seconds <= seconds)
    return found.sort((a, b) => a.energyJ - b.energyJ)[0] ?? null
  }
}

function costed(operator: DecoderOperator, board: OperatorBoard, dtype: OperatorDtype): CostedOperator {
  const { kind } = operator
  if (kind === 'elementwise') return elementwise(operator.elements, board)
  if (kind === 'gemm') {
    const unquantised = operator.name === 'vocabulary' || operator.name === 'router'
    return streamed({ ...operator, kind, dtype: unquantised ? 'bfloat16' : denseDtype(dtype) }, board)
  }
  if (kind === 'moe') {
    const { tokens, topk, experts } = operator
    // Tokens choose independently. The routing of the measurements changes abruptly at one choice per expert.
    const hit = experts * (1 - (1 - topk / experts) ** tokens)
    return streamed({ ...operator, kind, dtype, skewed: true, hit }, board)
  }
  // A shorter context never takes longer than a longer one. The fit may say otherwise, above all for unmeasured heads.
  const lengths = Array.from({ length: kind === 'decode' ? 18 : 1 }, (_, i) => operator.length * 2 ** i)
  return lengths
    .map((length) => streamed({ ...operator, length, kind, dtype: 'bfloat16', kvDtype: 'bfloat16' }, board))
    .reduce((a, b) => (b.atDefault.seconds < a.atDefault.seconds ? b : a))
}

/**
 * Cost of an operator whose operands come from memory. Some operators were measured with operands in L2, but a model's
 * weights and cache do not fit there.
 */
function streamed(operator: Operator, board: OperatorBoard): CostedOperator {
  const cost = costOperator(operator, board)
  const { work, atDefault: measured } = cost
  const minSeconds = Math.max(work.flop / peakFlops(board, operator.dtype), work.bytes / (1e12 * board.bandwidthTBs))
  const atDefault = { ...measured, seconds: Math.max(measured.seconds, minSeconds) }
  return { ...cost, atDefault, at: (clock) => atClock(atDefault, work, board, clock) }
}

/** Cost of an elementwise operator: a launch and a stream through memory. The constants are assumed, not measured. */
function elementwise(elements: number, board: OperatorBoard): CostedOperator {
  const bytes = 2 * elements
  const memoryS = bytes / (0.75e12 * board.bandwidthTBs)
  const seconds = memoryS + 2e-6
  const work: OperatorWork = { flop: elements, bytes, computeS: seconds / 2, memoryS, baseS: seconds, traits: [] }
  const atDefault = {
    seconds,
    watts: board.idleW + (0.45 * (board.powerLimitW - board.idleW) * (memoryS + 1e-6)) / seconds,
  }
  return { work, atDefault, wattsFrom: null, at: (clock) => atClock(atDefault, work, board, clock) }
}

/** Memory, in bytes, of the weights and of the cache for `batch` sequences of `length` tokens. */
export function memoryBytes(
  graphs: DecoderGraphs,
  decoder: Decoder,
  dtype: OperatorDtype,
  batch: number,
  length: number,
): { readonly weights: number; readonly cache: number; readonly total: number } {
  const { experts, hidden, tied, vocabulary } = decoder
  const embeddings = (tied ? 1 : 2) * vocabulary * hidden
  const routed = experts ? experts.layers * 3 * hidden * experts.count * experts.inter : 0
  const dense = graphs.decoderParameters(decoder) - embeddings - routed
  const weights = 2 * embeddings + dense * weightBytes(denseDtype(dtype)) + routed * weightBytes(dtype)
  const cache = graphs.kvCacheBytes(decoder, batch, length, 2)
  return { weights, cache, total: weights + cache }
}

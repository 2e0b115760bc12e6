import type { Decoder, DecoderOperator, DecoderPass } from '@pctodl/model-zoo'
import { InvalidInputError } from '@pctodl/platform'
import type { OperatorBoard } from './operator-board.js'
import { atClock, type CostedOperator, costOperator } from './operator-model.js'
import { denseDtype, type OperatorDtype, type OperatorWork, weightBytes } from './operator-work.js'

/** Functions of `@pctodl/model-zoo`, passed in so that this module does not depend on that package. */
export interface DecoderGraphs {
  decoderOperators(decoder: Decoder, pass: DecoderPass): DecoderOperator[]
  decoderParameters(decoder: Decoder): number
  kvCacheBytes(decoder: Decoder, batch: number, length: number, bytesPerElement: number): number
}

/** Time, power and energy of one pass through a model on one board. */
export interface PassEstimate {
  /** SM clock as a fraction of the default clock. */
  readonly clock: number
  readonly seconds: number
  readonly watts: number
  readonly energyJ: number
}

interface CountedOperator extends CostedOperator {
  readonly count: number
}

/** One prefill or decode step on a board. Its operators are costed once and can then be evaluated at many clocks. */
export class LanguageModelPass {
  private constructor(
    private readonly operators: readonly CountedOperator[],
    readonly board: OperatorBoard,
  ) {}

  /**
   * Computes the cost of each operator of a pass.
   *
   * @throws InvalidInputError for a number format that was not measured on the board, or that the model cannot have
   */
  static of(
    graphs: DecoderGraphs,
    decoder: Decoder,
    pass: DecoderPass,
    board: OperatorBoard,
    dtype: OperatorDtype,
  ): LanguageModelPass {
    if (decoder.experts === null && denseDtype(dtype) !== dtype)
      throw new InvalidInputError('dtype', dtype, 'a format for models without experts')
    const operators = graphs.decoderOperators(decoder, pass).map((operator) => ({
      ...costed(operator, board, dtype),
      count: operator.count,
    }))
    return new LanguageModelPass(operators, board)
  }

  /** Boards whose measured power stands in for this board's. */
  get wattsFrom(): string[] {
    return [...new Set(this.operators.flatMap(({ wattsFrom }) => wattsFrom ?? []))]
  }

  at(clock: number): PassEstimate {
    let [seconds, energyJ] = [0, 0]
    for (const { at, count } of this.operators) {
      const cost = at(clock)
      seconds += count * cost.seconds
      energyJ += count * cost.seconds * cost.watts
    }
    return { clock, seconds, energyJ, watts: energyJ / seconds }
  }

  /** Lowest SM clock as a fraction of the default clock. */
  get lowestClock(): number {
    return this.board.lowestClockMhz / this.board.boostClockMhz
  }

  /** The fastest estimate within the cap; null if the power exceeds the cap even at the lowest clock. */
  within(capW: number): PassEstimate | null {
    if (this.at(1).watts <= capW) return this.at(1)
    let [low, high] = [this.lowestClock, 1]
    if (this.at(low).watts > capW) return null
    for (let i = 0; i < 30; i++) {
      const middle = (low + high) / 2
      if (this.at(middle).watts <= capW) low = middle
      else high = middle
    }
    return this.at(low)
  }

  /**
   * The estimate with minimum energy among those within the cap that take at most `seconds`; null if there is none.
   */
  minEnergy(capW: number, seconds: number): PassEstimate | null {
    let best: PassEstimate | null = null
    for (let i = 0; i <= 100; i++) {
      const found = this.at(this.lowestClock + ((1 - this.lowestClock) * i) / 100)
      if (
        found.watts <= capW &&
        found.seconds <= seconds &&
        found.energyJ < (best?.energyJ ?? Number.POSITIVE_INFINITY)
      )
        best = found
    }
    return best
  }
}

function costed(operator: DecoderOperator, board: OperatorBoard, dtype: OperatorDtype): CostedOperator {
  const { kind } = operator
  if (kind === 'elementwise') return elementwise(operator.elements, board)
  if (kind === 'gemm') {
    const unquantised = operator.name === 'vocabulary' || operator.name === 'router'
    return costOperator({ ...operator, kind, dtype: unquantised ? 'bfloat16' : denseDtype(dtype) }, board)
  }
  if (kind === 'moe') return costOperator({ ...operator, kind, dtype, skewed: true }, board)
  return costOperator({ ...operator, kind, dtype: 'bfloat16', kvDtype: 'bfloat16' }, board)
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

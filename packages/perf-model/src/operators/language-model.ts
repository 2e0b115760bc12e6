import type { Decoder, DecoderOperator, DecoderPass } from '@pctodl/model-zoo'
import type { OperatorBoard } from './operator-board.js'
import { atClock, type CostedOperator, costOperator } from './operator-model.js'
import { type OperatorDtype, type OperatorWork, weightBytes } from './operator-work.js'

/** Graphs of decoders: what `@pctodl/model-zoo` exports, handed in so that this entry needs no second package. */
export interface DecoderGraphs {
  decoderOperators(decoder: Decoder, pass: DecoderPass): DecoderOperator[]
  decoderParameters(decoder: Decoder): number
  kvCacheBytes(decoder: Decoder, batch: number, length: number, bytesPerElement: number): number
}

/** One pass through a model on one board. */
export interface PassEstimate {
  /** Part of the default clock. */
  readonly clock: number
  readonly seconds: number
  readonly watts: number
  readonly energyJ: number
}

interface CountedOperator extends CostedOperator {
  readonly count: number
}

/** A pass whose operators are costed once, to be asked at many clocks. */
export class LanguageModelPass {
  private constructor(
    private readonly operators: readonly CountedOperator[],
    readonly board: OperatorBoard,
  ) {}

  /** @throws InvalidInputError for a format that was not measured on the board */
  static of(
    graphs: DecoderGraphs,
    decoder: Decoder,
    pass: DecoderPass,
    board: OperatorBoard,
    dtype: OperatorDtype,
  ): LanguageModelPass {
    const operators = graphs.decoderOperators(decoder, pass).map((operator) => ({
      ...costed(operator, board, operator.name === 'vocabulary' || operator.name === 'router' ? 'bfloat16' : dtype),
      count: operator.count,
    }))
    return new LanguageModelPass(operators, board)
  }

  /** Boards whose measured watts stand for this one's. */
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

  /** Lowest clock of the board, as a part of the default one. */
  get lowestClock(): number {
    return this.board.lowestClockMhz / this.board.boostClockMhz
  }

  /** The fastest that keeps the cap; null where the lowest clock does not. */
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

  /** The clock of the fewest joules that keeps the cap and takes at most `seconds`; null where there is none. */
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
  if (kind === 'gemm') return costOperator({ ...operator, kind, dtype }, board)
  if (kind === 'moe') return costOperator({ ...operator, kind, dtype, skewed: true }, board)
  return costOperator({ ...operator, kind, dtype: 'bfloat16', kvDtype: 'bfloat16' }, board)
}

/** A stream through the memory after a launch: assumed, nothing measured; its power is that of the bytes and of half the SMs' share. */
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

/** Bytes that weights and the cache of `batch` sequences of `length` tokens take. */
export function memoryBytes(
  graphs: DecoderGraphs,
  decoder: Decoder,
  dtype: OperatorDtype,
  batch: number,
  length: number,
): { readonly weights: number; readonly cache: number; readonly total: number } {
  const embeddings = (decoder.tied ? 1 : 2) * decoder.vocabulary * decoder.hidden
  const weights = (graphs.decoderParameters(decoder) - embeddings) * weightBytes(dtype) + 2 * embeddings
  const cache = graphs.kvCacheBytes(decoder, batch, length, 2)
  return { weights, cache, total: weights + cache }
}

import type { GpuSpec } from '@pctodl/platform'
import type { BoardConstants } from './board-constants.js'
import { correctionLayout, writeKindCorrections } from './corrections.js'
import { type KindArrays, writeKind } from './mix.js'
import type { PerfModelParameters } from './parameters.js'
import { MAX_BATCH_SIZE, tenantLayout } from './tenant-coefficients.js'

const FIRST_CAPACITY = 64

/**
 * Coefficients and corrections of the kinds of tenants (network, share in TPCs, batch size). A kind is added on first
 * use. A search uses few of the tens of thousands of possible kinds; stored compactly, these stay in the CPU caches.
 */
export class KindTable implements KindArrays {
  coefficients: Float64Array = new Float64Array(FIRST_CAPACITY * tenantLayout.stride)
  corrections: Float64Array
  readonly #parameters: PerfModelParameters
  readonly #spec: GpuSpec
  readonly #board: BoardConstants
  readonly #tpcCount: number
  /** Offset of each possible kind's coefficients; -1 if not yet added. */
  readonly #offsets: Int32Array
  #count = 0

  constructor(parameters: PerfModelParameters, spec: GpuSpec, board: BoardConstants) {
    this.#parameters = parameters
    this.#spec = spec
    this.#board = board
    this.#tpcCount = spec.smCount / spec.smPerTpc
    this.#offsets = new Int32Array(parameters.networks.length * this.#tpcCount * MAX_BATCH_SIZE).fill(-1)
    this.corrections = new Float64Array(FIRST_CAPACITY * board.memClocksMhz.length * correctionLayout.stride)
  }

  /** Offset of a kind's coefficients. A new kind may replace the arrays with larger ones. */
  offsetOf(network: number, tpcs: number, batchSize: number): number {
    const index = (network * this.#tpcCount + tpcs - 1) * MAX_BATCH_SIZE + batchSize - 1
    const known = this.#offsets[index]!
    if (known >= 0) return known
    const offset = this.#add(network, tpcs, batchSize)
    this.#offsets[index] = offset
    return offset
  }

  #add(network: number, tpcs: number, batchSize: number): number {
    const kind = this.#count++
    const offset = kind * tenantLayout.stride
    if (offset === this.coefficients.length) {
      this.coefficients = twiceAsLong(this.coefficients)
      this.corrections = twiceAsLong(this.corrections)
    }
    const parameters = this.#parameters.networks[network]!
    const sms = tpcs * this.#spec.smPerTpc
    writeKind(this.#board, parameters, { network, sms, batchSize }, this.coefficients, offset)
    const mpsPercent = (100 * sms) / this.#spec.smCount
    writeKindCorrections(parameters, this.#board.memClocksMhz, mpsPercent, batchSize, this.corrections, kind)
    return offset
  }
}

function twiceAsLong(array: Float64Array): Float64Array<ArrayBuffer> {
  const longer = new Float64Array(2 * array.length)
  longer.set(array)
  return longer
}

import { type GpuSpec, MAX_MPS_CLIENTS } from '@pctodl/platform'
import type { BoardConstants } from './board-constants.js'
import { correctionsOf } from './corrections.js'
import { kindLayout } from './kind.js'
import { writeKind } from './mix.js'
import type { PerfModelParameters } from './parameters.js'

const FIRST_CAPACITY = 64

/**
 * Records of the kinds of tenants. A kind is added on first use. A search uses few of the millions of possible kinds;
 * stored compactly, these stay in the CPU caches.
 */
export class KindTable {
  records: Float64Array = new Float64Array(FIRST_CAPACITY * kindLayout.stride)
  readonly #parameters: PerfModelParameters
  readonly #spec: GpuSpec
  readonly #board: BoardConstants
  /** Offsets of the records by network and share, then batch size, then memory clock and number of tenants. */
  readonly #offsets: number[][][] = []
  #length = 0

  constructor(parameters: PerfModelParameters, spec: GpuSpec, board: BoardConstants) {
    this.#parameters = parameters
    this.#spec = spec
    this.#board = board
  }

  /** Offset of a kind's record. A new kind may replace `records` with a longer array. */
  offsetOf(network: number, tpcs: number, batchSize: number, memIndex: number, tenants: number): number {
    const share = network * this.#spec.smCount + tpcs
    const among = memIndex * MAX_MPS_CLIENTS + tenants
    const known = this.#offsets[share]?.[batchSize]?.[among]
    if (known !== undefined) return known
    const offset = this.#add(network, tpcs, batchSize, memIndex, tenants)
    this.#offsets[share] ??= []
    this.#offsets[share][batchSize] ??= []
    this.#offsets[share][batchSize][among] = offset
    return offset
  }

  #add(network: number, tpcs: number, batchSize: number, memIndex: number, tenants: number): number {
    const offset = this.#length
    this.#length += kindLayout.stride
    if (offset === this.records.length) {
      const longer = new Float64Array(2 * offset)
      longer.set(this.records)
      this.records = longer
    }
    const parameters = this.#parameters.networks[network]!
    const kind = { network, sms: tpcs * this.#spec.smPerTpc, batchSize, memIndex, tenants }
    writeKind(this.#board, parameters, kind, this.records, offset, correctionsOf(this.#board, parameters, kind))
    return offset
  }
}

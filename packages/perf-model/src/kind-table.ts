import { type GpuSpec, MAX_MPS_CLIENTS } from '@pctodl/platform'
import type { BoardConstants } from './board-constants.js'
import { correctionsOf } from './corrections.js'
import { KindField, MAX_BATCH_SIZE } from './kind.js'
import { writeKind } from './mix.js'
import type { PerfModelParameters } from './parameters.js'

/** Maximum number of records. A search uses a few thousand of the millions of possible kinds. */
const MAX_RECORDS = 65_536

/** Records of the kinds of tenants, written on first use. Stored compactly, they stay in the CPU caches. */
export class KindTable {
  records: Float64Array = new Float64Array(64 * KindField.stride)
  readonly #offsets = new Map<number, number>()

  constructor(
    private readonly parameters: PerfModelParameters,
    private readonly spec: GpuSpec,
    private readonly board: BoardConstants,
  ) {}

  /** Number that stands for a network, a share and a batch size. */
  numberOf(network: number, tpcs: number, batchSize: number): number {
    return (network * this.spec.smCount + tpcs - 1) * MAX_BATCH_SIZE + batchSize - 1
  }

  /**
   * Find the records of the tenants of a mix. Offsets found earlier become invalid.
   *
   * @param tenants numbers of the tenants' kinds; the first `count` are read
   * @param offsets receives the offsets of the records
   */
  find(tenants: ArrayLike<number>, count: number, memIndex: number, offsets: Int32Array): void {
    if (this.#offsets.size > MAX_RECORDS - MAX_MPS_CLIENTS) this.#offsets.clear()
    for (let i = 0; i < count; i++) {
      const kind = tenants[i]!
      const key = (kind * this.board.memClocksMhz.length + memIndex) * (MAX_MPS_CLIENTS + 1) + count
      let offset = this.#offsets.get(key)
      if (offset === undefined) {
        offset = this.#offsets.size * KindField.stride
        this.#write(kind, memIndex, count, offset)
        this.#offsets.set(key, offset)
      }
      offsets[i] = offset
    }
  }

  #write(kind: number, memIndex: number, tenants: number, offset: number): void {
    if (offset === this.records.length) {
      const longer = new Float64Array(2 * offset)
      longer.set(this.records)
      this.records = longer
    }
    const share = Math.floor(kind / MAX_BATCH_SIZE)
    const network = Math.floor(share / this.spec.smCount)
    const sms = ((share % this.spec.smCount) + 1) * this.spec.smPerTpc
    const of = { network, sms, batchSize: (kind % MAX_BATCH_SIZE) + 1, memIndex, tenants }
    const parameters = this.parameters.networks[network]!
    writeKind(this.board, parameters, of, this.records, offset, correctionsOf(this.board, parameters, of))
  }
}

import type { LeastSquaresProblem } from '@pctodl/numerics'
import { type GpuSpec, MAX_MPS_CLIENTS } from '@pctodl/platform'
import { type BoardConstants, boardConstants } from '../board-constants.js'
import { correctionsOf } from '../corrections.js'
import { type KindCorrections, KindField } from '../kind.js'
import { Mix, prepare, writeKind } from '../mix.js'
import type { BoardParameters, NetworkParameters } from '../parameters.js'
import { Solution, solve } from '../solve.js'
import { ErrorTerms, type Quantity } from '../uncertainty/error-terms.js'
import type { FreeParameters } from './free-parameters.js'
import type { TableRow, TraceTable } from './trace-table.js'

/** Step of the finite differences of corrections; coarse, because a sensitivity need not be exact. */
const SENSITIVITY_STEP = 1e-3

export interface StageResiduals {
  count(row: TableRow): number
  /** @param limitW cap on the predicted power of rows with a nominal clock */
  write(row: TableRow, solution: Solution, out: Float64Array, at: number, limitW: number): void
}

/** Terms of the error model for a row, and the fit's standard deviations for it. */
export interface RowFeatures {
  readonly throughput: ErrorTerms
  readonly power: ErrorTerms
  readonly speedSd: number
  readonly powerSd: number
}

/** One coordinate of the parameter vector. */
export interface Slot {
  /** Index of the network that owns the parameter, or -1 for the board. */
  readonly network: number
  readonly key: string
  /** Index in the list of idle powers; -1 for any other parameter. */
  readonly memIndex: number
  readonly lower: number
  readonly upper: number
}

/**
 * Least-squares problem of one stage of a fit, over the logarithms of the free parameters of the board and of every
 * network. These are fitted jointly, because rows with several networks couple them. The finite difference for a
 * network's parameter evaluates only the rows with that network, which keeps the joint fit affordable.
 */
export class ModelObjective implements LeastSquaresProblem {
  readonly parameterCount: number
  readonly residualCount: number
  readonly slots: readonly Slot[]
  readonly #rows: readonly TableRow[]
  readonly #rowStart: Int32Array
  readonly #rowsOfNetwork: readonly (readonly number[])[]
  readonly #kindsOfNetwork: readonly (readonly number[])[]
  #constants: BoardConstants
  #corrections: readonly KindCorrections[] = []
  readonly #records: Float64Array
  readonly #mix = new Mix()
  readonly #solution = new Solution()
  readonly #offsets: Int32Array
  readonly #shifted: Float64Array
  readonly #start: Float64Array
  readonly #pull: Float64Array

  constructor(
    readonly spec: GpuSpec,
    readonly table: TraceTable,
    rows: readonly TableRow[],
    readonly board: BoardParameters,
    readonly networks: readonly NetworkParameters[],
    free: FreeParameters,
    readonly stage: StageResiduals,
    /** Strength of a parameter's prior towards the start, in standard deviations per unit of ln(parameter). */
    prior: (slot: Slot) => number,
    /** Cap on the predicted power of rows with a nominal clock, W. */
    readonly limitW: number,
  ) {
    this.#rows = rows
    const slots: Slot[] = []
    for (const { key, lower, upper } of free.board) {
      if (key === 'idlePowerW') {
        table.memClocksMhz.forEach((_, memIndex) => void slots.push({ network: -1, key, memIndex, lower, upper }))
      } else slots.push({ network: -1, key, memIndex: -1, lower, upper })
    }
    networks.forEach((_, network) => {
      for (const { key, lower, upper } of free.network) slots.push({ network, key, memIndex: -1, lower, upper })
    })
    this.slots = slots
    this.parameterCount = slots.length
    this.#rowStart = new Int32Array(rows.length + 1)
    rows.forEach((row, r) => {
      this.#rowStart[r + 1] = this.#rowStart[r]! + stage.count(row)
    })
    this.residualCount = this.#rowStart[rows.length]! + slots.length
    this.#rowsOfNetwork = networks.map((_, k) => rows.flatMap((row, r) => (row.networks.includes(k) ? [r] : [])))
    this.#kindsOfNetwork = networks.map((_, k) => table.kinds.flatMap((kind, i) => (kind.network === k ? [i] : [])))
    this.#constants = boardConstants(spec, board)
    this.#records = new Float64Array(table.kinds.length * KindField.stride)
    this.#offsets = new Int32Array(MAX_MPS_CLIENTS)
    this.readCorrections()
    this.#shifted = new Float64Array(this.residualCount)
    this.#start = this.pack()
    this.#pull = Float64Array.from(slots, prior)
  }

  lower(): Float64Array {
    return Float64Array.from(this.slots, (slot) => Math.log(slot.lower))
  }

  upper(): Float64Array {
    return Float64Array.from(this.slots, (slot) => Math.log(slot.upper))
  }

  /** The current parameters as a parameter vector, clipped to their bounds. */
  pack(): Float64Array {
    return Float64Array.from(this.slots, (slot) => {
      const value = Math.min(slot.upper, Math.max(slot.lower, this.#get(slot)))
      return Math.log(value)
    })
  }

  /** Write a parameter vector into the parameter objects and recompute all coefficients. */
  settle(point: Float64Array): void {
    this.slots.forEach((slot, j) => void this.#set(slot, Math.exp(point[j]!)))
    this.#refresh()
  }

  /** Name of a coordinate as `owner.parameter`. */
  nameOf(index: number): string {
    const { network, key } = this.slots[index]!
    return `${network < 0 ? 'board' : this.networks[network]!.name}.${key}`
  }

  residuals(point: Float64Array, out: Float64Array): void {
    this.settle(point)
    for (let r = 0; r < this.#rows.length; r++) this.#writeRow(r, out)
    const priorStart = this.#rowStart[this.#rows.length]!
    this.#pull.forEach((pull, j) => {
      out[priorStart + j] = pull * (point[j]! - this.#start[j]!)
    })
  }

  jacobian(point: Float64Array, residuals: Float64Array, out: Float64Array): void {
    const n = this.parameterCount
    const everyRow = this.#rows.map((_, r) => r)
    const size = 1e-6
    this.settle(point)
    this.slots.forEach((slot, j) => {
      const value = this.#get(slot)
      this.#set(slot, value * Math.exp(size))
      this.#refresh(slot.network)
      for (const r of slot.network < 0 ? everyRow : this.#rowsOfNetwork[slot.network]!) {
        this.#writeRow(r, this.#shifted)
        for (let i = this.#rowStart[r]!; i < this.#rowStart[r + 1]!; i++) {
          out[i * n + j] = (this.#shifted[i]! - residuals[i]!) / size
        }
      }
      this.#set(slot, value)
      this.#refresh(slot.network)
    })
    const priorStart = this.#rowStart[this.#rows.length]!
    this.#pull.forEach((pull, j) => {
      out[(priorStart + j) * n + j] = pull
    })
  }

  /** Reload the networks' corrections after they have changed. */
  readCorrections(): void {
    this.#corrections = this.table.kinds.map((kind) =>
      correctionsOf(this.#constants, this.networks[kind.network]!, kind),
    )
    this.#refresh()
  }

  /**
   * Evaluate any row of the table; the result is valid until the next call. Its `powerW` is not capped at the limit
   * (see `heldPowerW`).
   */
  evaluate(row: TableRow): Solution {
    const { kinds, memIndex } = row
    for (let i = 0; i < kinds.length; i++) this.#offsets[i] = kinds[i]! * KindField.stride
    prepare(this.#constants, this.#records, this.#offsets, kinds.length, memIndex, this.#mix)
    solve(this.#constants, this.#records, this.#mix, row.row.smClockMhz, this.#solution)
    return this.#solution
  }

  /** Terms of the error model for the row that was evaluated last. */
  featuresOf(row: TableRow): RowFeatures {
    const of = (quantity: Quantity) => {
      const terms = new ErrorTerms(this.networks.length)
      terms.write(quantity, this.#constants, this.#records, this.#mix, this.#solution, row.row.smClockMhz)
      return terms
    }
    const { speedSd, powerSd } = this.#mix
    return { throughput: of('throughput'), power: of('power'), speedSd, powerSd }
  }

  /**
   * Derivatives of the log throughput of each tenant of a row with respect to the log of one kind's factors on device
   * speed and host speed.
   */
  speedSensitivity(row: TableRow, kind: number): { readonly device: Float64Array; readonly host: Float64Array } {
    const before = Float64Array.from(this.evaluate(row).throughput.subarray(0, row.kinds.length))
    const corrections = this.#corrections[kind]!
    const by = (factor: 'deviceSpeed' | 'hostSpeed'): Float64Array => {
      this.#writeKind(kind, { ...corrections, [factor]: corrections[factor] * (1 + SENSITIVITY_STEP) })
      const { throughput } = this.evaluate(row)
      this.#writeKind(kind, corrections)
      return before.map((value, i) => Math.log(throughput[i]! / value) / Math.log(1 + SENSITIVITY_STEP))
    }
    return { device: by('deviceSpeed'), host: by('hostSpeed') }
  }

  #writeRow(r: number, out: Float64Array): void {
    const row = this.#rows[r]!
    this.stage.write(row, this.evaluate(row), out, this.#rowStart[r]!, this.limitW)
  }

  #refresh(network = -1): void {
    if (network < 0) this.#constants = boardConstants(this.spec, this.board)
    const kinds = network < 0 ? this.table.kinds.keys() : this.#kindsOfNetwork[network]!
    for (const kind of kinds) this.#writeKind(kind, this.#corrections[kind]!)
  }

  #writeKind(index: number, corrections: KindCorrections): void {
    const kind = this.table.kinds[index]!
    const network = this.networks[kind.network]!
    writeKind(this.#constants, network, kind, this.#records, index * KindField.stride, corrections)
  }

  #get(slot: Slot): number {
    if (slot.memIndex >= 0) return this.board.idlePowerW[slot.memIndex]!.powerW
    return (this.#owner(slot) as unknown as Record<string, number>)[slot.key]!
  }

  #set(slot: Slot, value: number): void {
    if (slot.memIndex >= 0) this.board.idlePowerW[slot.memIndex]!.powerW = value
    else (this.#owner(slot) as unknown as Record<string, number>)[slot.key] = value
  }

  #owner(slot: Slot): BoardParameters | NetworkParameters {
    return slot.network < 0 ? this.board : this.networks[slot.network]!
  }
}

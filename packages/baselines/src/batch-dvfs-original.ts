import { type GpuSpec, InvalidInputError } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation } from '@pctodl/scheduler'
import { highestMemClock, indexAtMost, workingSmClocks } from './clock-table.js'

export interface BatchDvfsOriginalOptions {
  readonly spec: GpuSpec
  readonly model: string
  /** Batch sizes, ascending, at least one. Default: 1 to 255, as in the authors' program. */
  readonly batchLadder?: readonly number[]
}

/** Minimum time between two decisions, ms. */
const DECISION_MS = 3000
/** The policy changes nothing while power is between this fraction of the cap and the cap. */
const BAND = 0.8
/**
 * The ten clocks of the authors' program on a Tesla P40, as fractions of the highest clock. `FIRST_LEVEL` is the index
 * of the initial clock.
 */
const LEVELS = [544, 632, 734, 835, 949, 1063, 1189, 1303, 1430, 1531].map((mhz) => mhz / 1531)
const FIRST_LEVEL = 5
const MAX_BATCH = 255

/**
 * BatchDVFS by the rules of its authors' own program (github.com/nabavinejad/BatchDVFS). PctoDL's Python code contains
 * a port that differs from it. One tenant has the whole board, at the highest memory clock. It starts with a batch size
 * of 1 at the sixth of ten clocks. The policy decides at most every 3 s, by the largest power reading since the last
 * decision. Between 0.8 of the cap and the cap it changes nothing. Below this band it bisects the batch size upwards;
 * above, downwards. If the bisection reaches one of its bounds, this bound moves back to the end of the table. The
 * clock rises only at the largest batch size, and falls only at the smallest.
 *
 * This version differs from the authors' program in two ways. It uses the board's clocks that are nearest below the
 * same fractions of the highest clock. A batch that does not fit into memory is never tried again.
 */
export class BatchDvfsOriginalPolicy implements PowerCapPolicy {
  readonly name = 'batchdvfs-original'
  readonly notes: string[] = []
  readonly #options: BatchDvfsOriginalOptions
  readonly #levelsMhz: readonly number[]
  #level = FIRST_LEVEL
  #ladder: readonly number[]
  /** Index of the present batch size in the ladder. `lower` and `upper` are the bounds of the bisection. */
  #batch = 0
  #lower = 0
  #upper: number
  #nextMs = DECISION_MS
  /** Largest reading since the last decision, W. */
  #largestW = 0

  /** @throws InvalidInputError for an empty ladder */
  constructor(options: BatchDvfsOriginalOptions) {
    const { spec, batchLadder = Array.from({ length: MAX_BATCH }, (_, i) => i + 1) } = options
    if (batchLadder.length === 0) throw new InvalidInputError('batchLadder', batchLadder, 'at least one batch size')
    this.#options = options
    this.#ladder = batchLadder
    this.#upper = batchLadder.length - 1
    const clocks = workingSmClocks(spec)
    this.#levelsMhz = LEVELS.map((share) => clocks[indexAtMost(clocks, share * clocks.at(-1)!)]!)
  }

  start(): Action {
    return { ...this.#action(), memClockMhz: highestMemClock(this.#options.spec) }
  }

  onCapChange(): undefined {}

  onSample({ timeMs, telemetry, powerCapW, reconfiguring, failures }: SampleObservation): Action | undefined {
    const failed = failures[0]
    if (failed) return this.#shrink(failed.tenant.batchSize)
    if (reconfiguring) {
      this.#largestW = 0
      this.#nextMs = timeMs + DECISION_MS
      return undefined
    }
    this.#largestW = Math.max(this.#largestW, telemetry.powerAverageW ?? 0)
    if (timeMs < this.#nextMs || this.#largestW === 0) return undefined
    const [batch, level] = [this.#batch, this.#level]
    this.#decide(this.#largestW, powerCapW)
    this.#largestW = 0
    this.#nextMs += DECISION_MS
    return batch === this.#batch && level === this.#level ? undefined : this.#action()
  }

  onWindow(): undefined {}

  #decide(powerW: number, powerCapW: number): void {
    const last = this.#ladder.length - 1
    if (powerW < BAND * powerCapW) {
      if (this.#batch === last) {
        this.#level = Math.min(this.#level + 1, LEVELS.length - 1)
        return
      }
      if (this.#batch === this.#upper) this.#upper = last
      this.#lower = this.#batch
      this.#batch = Math.ceil((this.#lower + this.#upper) / 2)
    } else if (powerW > powerCapW) {
      if (this.#batch === 0) {
        this.#level = Math.max(this.#level - 1, 0)
        return
      }
      if (this.#batch === this.#lower) this.#lower = 0
      this.#upper = this.#batch
      this.#batch = Math.floor((this.#lower + this.#upper) / 2)
    }
  }

  /**
   * To be called if a batch did not fit into memory. Uses the largest batch size of at most half the failed one, and
   * never tries the failed size or a larger one again.
   */
  #shrink(failedBatch: number): Action | undefined {
    if (failedBatch > this.#ladder[this.#batch]! || failedBatch <= this.#ladder[0]!) return undefined
    this.#ladder = this.#ladder.filter((batch) => batch < failedBatch)
    this.#batch = indexAtMost(this.#ladder, failedBatch / 2)
    this.#upper = this.#ladder.length - 1
    this.#lower = Math.min(this.#lower, this.#batch)
    return this.#action()
  }

  #action(): Action {
    const tenants = [{ model: this.#options.model, mpsPercent: 100, batchSize: this.#ladder[this.#batch]! }]
    return { tenants, smClockMhz: this.#levelsMhz[this.#level]! }
  }
}

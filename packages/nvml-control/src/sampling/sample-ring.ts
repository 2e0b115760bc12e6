import type { Telemetry } from '@pctodl/platform'

/** Quantities kept of each sample. NaN stands for null: a typed array has no other way to say "not read". */
export const ringColumns = [
  'timeMs',
  'powerAverageW',
  'powerInstantW',
  'energyJ',
  'smClockMhz',
  'memClockMhz',
  'smUtilPercent',
  'memUtilPercent',
  'temperatureC',
  'memoryUsedBytes',
] as const

export type RingColumn = (typeof ringColumns)[number]

/** The latest samples, in arrays that are allocated once. Samples are numbered from 0, for as long as it lives. */
export class SampleRing {
  readonly capacity: number
  readonly #columns: Readonly<Record<RingColumn, Float64Array>>
  #count = 0

  constructor(capacity: number) {
    this.capacity = capacity
    this.#columns = Object.fromEntries(ringColumns.map((name) => [name, new Float64Array(capacity)])) as Record<
      RingColumn,
      Float64Array
    >
  }

  /** Samples ever written. */
  get count(): number {
    return this.#count
  }

  /** Number of the oldest sample still kept. */
  get oldest(): number {
    return Math.max(0, this.#count - this.capacity)
  }

  push(sample: Telemetry): void {
    const at = this.#count % this.capacity
    const columns = this.#columns
    columns.timeMs[at] = sample.timeMs
    columns.powerAverageW[at] = sample.powerAverageW ?? Number.NaN
    columns.powerInstantW[at] = sample.powerInstantW ?? Number.NaN
    columns.energyJ[at] = sample.energyJ ?? Number.NaN
    columns.smClockMhz[at] = sample.smClockMhz ?? Number.NaN
    columns.memClockMhz[at] = sample.memClockMhz ?? Number.NaN
    columns.smUtilPercent[at] = sample.smUtilPercent ?? Number.NaN
    columns.memUtilPercent[at] = sample.memUtilPercent ?? Number.NaN
    columns.temperatureC[at] = sample.temperatureC ?? Number.NaN
    columns.memoryUsedBytes[at] = sample.memoryUsedBytes ?? Number.NaN
    this.#count++
  }

  /** @param number of a sample that is still kept */
  at(column: RingColumn, number: number): number {
    return this.#columns[column][number % this.capacity]!
  }
}

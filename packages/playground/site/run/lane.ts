import type { OpenedRecord } from './read-record.js'
import type { RunFrame, RunOutcome, Said } from './run-frame.js'

/** Readings come ten times a second: a lane keeps them on that grid, so that lanes can share an axis. */
const PER_SECOND = 10

type Column = (number | null)[]

/** What is known of one policy's run so far. */
export class Lane {
  readonly name: string
  /** Of the style sheet. */
  readonly color: string
  /** Of a record: where it comes from. */
  readonly source: string | null
  readonly powerW: Column = []
  readonly powerCapW: Column = []
  readonly smClockMhz: Column = []
  readonly temperatureC: Column = []
  readonly throughput: Column = []
  readonly said: Said[] = []
  tenants = ''
  timeS = 0
  outcome: RunOutcome | undefined
  problem: string | undefined
  #windowEnd = 0

  constructor(name: string, color: string, source: string | null = null) {
    this.name = name
    this.color = color
    this.source = source
  }

  static ofRecord(record: OpenedRecord, color: string, file: string): Lane {
    const lane = new Lane(record.policy, color, `${file}, ${record.board}`)
    lane.add(record.frame)
    lane.outcome = record.outcome
    return lane
  }

  add({ readings, windows, said, tenants }: RunFrame): void {
    for (const [timeMs, powerW, capW, clock, temperature] of readings) {
      const i = Math.round((timeMs / 1000) * PER_SECOND)
      put(this.powerW, i, powerW)
      put(this.powerCapW, i, capW)
      put(this.smClockMhz, i, clock)
      put(this.temperatureC, i, temperature)
      this.timeS = Math.max(this.timeS, timeMs / 1000)
    }
    for (const { endMs, throughput } of windows) {
      const end = Math.round((endMs / 1000) * PER_SECOND)
      for (let i = this.#windowEnd; i <= end; i++) put(this.throughput, i, throughput)
      this.#windowEnd = end
    }
    this.said.push(...said)
    if (tenants !== undefined) this.tenants = tenants
  }

  get length(): number {
    return Math.max(this.powerW.length, this.throughput.length)
  }
}

/** The common times of lanes, s. */
export function timesOf(lanes: readonly Lane[]): number[] {
  const length = Math.max(0, ...lanes.map((lane) => lane.length))
  return Array.from({ length }, (_, i) => i / PER_SECOND)
}

/** A column as long as the common times. */
export function padded(column: Column, length: number): Column {
  return column.length === length ? column.slice() : [...column, ...new Array<null>(length - column.length).fill(null)]
}

function put(column: Column, i: number, value: number | null): void {
  while (column.length < i) column.push(column.at(-1) ?? null)
  column[i] = value
}

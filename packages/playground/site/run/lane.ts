import type { ServiceReading } from '@pctodl/platform'
import type { OpenedRecord } from './read-record.js'
import type { RunFrame, RunOutcome, Said, ServicesReading } from './run-frame.js'

/** Readings per second. All lanes store their readings at the same times, so that charts can share a time axis. */
const PER_SECOND = 10

export type Column = (number | null)[]

/** Time over which the displayed attainment is computed, s. */
export const ATTAINMENT_S = 5

/** Outcome of one service's requests in the last seconds. */
export interface Served {
  readonly service: string
  readonly arrivedPerS: number
  /**
   * Fraction of the answered, shed or failed requests that were answered within the objective, 0..1; null if there were
   * none.
   */
  readonly attainment: number | null
  /** Number of waiting requests. */
  readonly queued: number
}

/** The data of one policy's run so far. */
export class Lane {
  readonly powerW: Column = []
  readonly powerCapW: Column = []
  readonly smClockMhz: Column = []
  readonly temperatureC: Column = []
  readonly throughput: Column = []
  readonly said: Said[] = []
  /** Counters of all services; only in runs of services. */
  readonly services: ServicesReading[] = []
  /** Attainment of the worst service over the last `ATTAINMENT_S` seconds, percent; one value for each second. */
  readonly attainment: Column = []
  /** Number of waiting requests of all services; one value for each second. */
  readonly waiting: Column = []
  tenants = ''
  timeS = 0
  outcome: RunOutcome | undefined
  problem: string | undefined
  #windowEnd = 0

  constructor(
    readonly name: string,
    /** CSS variable of the colour. */
    readonly color: string,
    /** File and board of an opened record; null for a run of this page. */
    readonly source: string | null = null,
  ) {}

  static ofRecord(record: OpenedRecord, color: string, file: string): Lane {
    const lane = new Lane(record.policy, color, `${file}, ${record.board}`)
    lane.add(record.frame)
    lane.outcome = record.outcome
    return lane
  }

  add({ readings, windows, said, services, tenants }: RunFrame): void {
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
    for (const reading of services) this.#addServices(reading)
    if (tenants !== undefined) this.tenants = tenants
  }

  #addServices(reading: ServicesReading): void {
    this.services.push(reading)
    const i = Math.round(reading.timeMs / 1000)
    const rates = this.servedOf(ATTAINMENT_S).map(({ attainment }) => attainment)
    const known = rates.filter((rate) => rate !== null)
    put(this.attainment, i, known.length === 0 ? null : 100 * Math.min(...known))
    put(
      this.waiting,
      i,
      reading.of.reduce((sum, { queued }) => sum + queued, 0),
    )
  }

  /** Returns the outcome of each service's requests in the last seconds. */
  servedOf(seconds: number): readonly Served[] {
    const now = this.services.at(-1)
    if (!now) return []
    const earlier = this.services.findLast(({ timeMs }) => timeMs <= now.timeMs - 1000 * seconds)
    return now.of.map((later) => {
      const before = earlier?.of.find(({ service }) => service === later.service)
      const since = (count: (reading: ServiceReading) => number) => count(later) - (before ? count(before) : 0)
      const decided = since(({ completed, shed, failed }) => completed + shed + failed)
      const elapsedS = (now.timeMs - (earlier?.timeMs ?? 0)) / 1000
      return {
        service: later.service,
        arrivedPerS: elapsedS > 0 ? since(({ arrived }) => arrived) / elapsedS : 0,
        attainment: decided === 0 ? null : since(({ completed, late }) => completed - late) / decided,
        queued: later.queued,
      }
    })
  }

  get length(): number {
    return Math.max(this.powerW.length, this.throughput.length)
  }
}

/** Returns the time axis that covers all lanes, s. */
export function timesOf(lanes: readonly Lane[]): number[] {
  const length = Math.max(0, ...lanes.map((lane) => lane.length))
  return Array.from({ length }, (_, i) => i / PER_SECOND)
}

/** Returns a column extended to the length of the time axis. */
export function padded(column: Column, length: number): Column {
  return column.length === length ? column.slice() : [...column, ...new Array<null>(length - column.length).fill(null)]
}

function put(column: Column, i: number, value: number | null): void {
  while (column.length < i) column.push(column.at(-1) ?? null)
  column[i] = value
}

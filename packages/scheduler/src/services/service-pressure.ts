import type { ServiceReading } from '@pctodl/platform'

/** Time over which attainment is judged, ms. */
const JUDGED_MS = 5000
/** What an objective of p99 asks for, and what is so much better that less will do. */
const WANTED = 0.99
const AMPLE = 0.997
/** How much more than the measured rate a service is planned for where it misses its objective, and at most. */
const HARDER = 1.12
const HARDEST = 2
/** How this fades each second in which the objective is kept amply. */
const EASIER = 0.985
/** Not below: the model may be pessimistic, but only so much is taken on trust. */
const EASIEST = 0.85

interface Mark {
  readonly timeMs: number
  readonly decided: number
  readonly inTime: number
}

/** Feedback of one service: how much harder than the model says it has to be tried to keep the objective here. */
export class ServicePressure {
  readonly #marks: Mark[] = []
  #factor = 1
  #judgedMs = 0

  /** To multiply the rate by that is planned for. */
  get factor(): number {
    return this.#factor
  }

  /** Share of what was decided in the last seconds that was answered in time, 0..1; null where nothing was. */
  get attainment(): number | null {
    const first = this.#marks[0]
    const last = this.#marks.at(-1)
    if (!first || !last || last.decided === first.decided) return null
    return (last.inTime - first.inTime) / (last.decided - first.decided)
  }

  /**
   * @param excused it is known why requests are late or turned away, and a higher plan would not help: tenants load
   */
  update(timeMs: number, { completed, late, shed, failed }: ServiceReading, excused: boolean): void {
    if (excused) this.#marks.length = 0
    const decided = completed + shed + failed
    // Counters that fall begin again.
    if (decided < (this.#marks.at(-1)?.decided ?? 0)) this.#marks.length = 0
    this.#marks.push({ timeMs, decided, inTime: completed - late })
    while (timeMs - this.#marks[0]!.timeMs > JUDGED_MS) this.#marks.shift()
    if (timeMs - this.#judgedMs < 1000) return
    this.#judgedMs = timeMs
    const { attainment } = this
    if (attainment === null || timeMs - this.#marks[0]!.timeMs < 1000) return
    if (attainment < WANTED) this.#factor = Math.min(HARDEST, this.#factor * HARDER)
    else if (attainment >= AMPLE) this.#factor = Math.max(EASIEST, this.#factor * EASIER)
  }
}

import type { ClockTuning } from './clock-tuning.js'
import type { FullLoadPower } from './full-load-power.js'
import type { Lesson } from './lesson.js'
import type { LoadJudge } from './load-judge.js'
import type { ReadingOrigin } from './power-estimate.js'
import { AVERAGE_WINDOW_MS, INSTANT_WINDOW_MS, type PowerHistory } from './power-history.js'
import type { ReadingNoise } from './reading-noise.js'

/** Share of the cap above which a reading teaches even where its timing is not sure. */
const EXCESS = 1.01

/**
 * Decides what readings teach of the power at full load. Higher than thought, always; lower, only what was read at full load.
 */
export class PowerTeacher {
  readonly #tuning: ClockTuning
  readonly #averages: boolean
  readonly #power: FullLoadPower
  readonly #history: PowerHistory
  readonly #load: LoadJudge
  readonly #noise: ReadingNoise

  constructor(
    tuning: ClockTuning,
    averages: boolean,
    of: {
      readonly power: FullLoadPower
      readonly history: PowerHistory
      readonly load: LoadJudge
      readonly noise: ReadingNoise
    },
  ) {
    this.#tuning = tuning
    this.#averages = averages
    this.#power = of.power
    this.#history = of.history
    this.#load = of.load
    this.#noise = of.noise
  }

  /** @param meanW of the last instant readings, W */
  teach(lesson: Lesson, meanW: number | null): void {
    if (lesson.averageW !== null) this.#average(lesson, lesson.averageW)
    if (lesson.instantW !== null) this.#instant(lesson, lesson.instantW)
    else if (lesson.unsteadyW !== null) this.#excess(lesson, INSTANT_WINDOW_MS, lesson.unsteadyW, meanW ?? 0)
  }

  #average(lesson: Lesson, averageW: number): void {
    const { durationMs, capW, endMs, quiet } = lesson
    const estimate = this.#power.estimate
    const modelW = this.#history.under(endMs, AVERAGE_WINDOW_MS)
    const uncertainW = this.#history.uncertainW(endMs, AVERAGE_WINDOW_MS)
    const error = averageW - estimate.power(modelW)
    const origin = this.#originOf(lesson, AVERAGE_WINDOW_MS)
    if (uncertainW > 0 && !this.#history.lagKnown) this.#excess(lesson, AVERAGE_WINDOW_MS, averageW, averageW)
    else if (error >= 0 || origin !== 'bound') {
      const noiseW = (this.#tuning.averageNoisePercent / 100) * capW
      estimate.learn(0, modelW, averageW, noiseW, uncertainW * estimate.state.slope, origin)
    }
    if (!quiet && uncertainW === 0) this.#noise.learn(error / capW, durationMs)
  }

  #instant(lesson: Lesson, instantW: number): void {
    const { durationMs, capW, endMs, quiet } = lesson
    const estimate = this.#power.estimate
    const modelW = this.#history.under(endMs, INSTANT_WINDOW_MS)
    const error = instantW - estimate.power(modelW)
    const origin = this.#originOf(lesson, INSTANT_WINDOW_MS)
    if (error >= 0 || origin !== 'bound') {
      estimate.learn(1, modelW, instantW, this.#instantNoiseW(capW), 0, origin)
    }
    if (!this.#averages && !quiet) this.#noise.learnInstant(error / capW, durationMs)
  }

  /**
   * The clock has moved lately, and it is not sure which one a reading is of: what lies between them teaches nothing. But where it is above the cap, and more than any of
   * them was thought to draw, it is laid at the highest of them, which it may not be of: taken for a point of the curve it would flatten it.
   */
  #excess({ capW, endMs }: Lesson, windowMs: number, readingW: number, meanW: number): void {
    if (Math.min(readingW, meanW) <= EXCESS * capW) return
    const highestW = this.#history.highest(endMs, windowMs)
    if (readingW <= this.#power.estimate.power(highestW)) return
    this.#power.estimate.learn(1, highestW, readingW, this.#instantNoiseW(capW), 0, 'bound')
  }

  #instantNoiseW(capW: number): number {
    return (this.#tuning.instantNoisePercent / 100) * capW
  }

  /** Tenants that start, pause or work in part draw less than they will: then a reading is a bound. */
  #originOf({ timeMs, quiet, held }: Lesson, windowMs: number): ReadingOrigin {
    if (quiet || !this.#load.fullFor(windowMs, timeMs)) return 'bound'
    return held ? 'trimmed' : 'full'
  }
}

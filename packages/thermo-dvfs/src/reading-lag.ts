/** Lags that are told apart, ms. */
export const LONGEST_LAG_MS = 2000
export const LAG_STEP_MS = 250
export const LAGS_MS: readonly number[] = Array.from(
  { length: 1 + LONGEST_LAG_MS / LAG_STEP_MS },
  (_, k) => k * LAG_STEP_MS,
)
/** Lags that differ by no more need not be told apart, ms. */
export const SAME_LAG_MS = 500

const LEAST_READINGS = 15
/** An episode that goes on and on is concluded after so many readings. */
const MOST_READINGS = 80
/** Standard deviation that the readings must have, share of their mean: the power's own moves, not noise, must be what is seen. */
const LEAST_SD = 0.01
/** Share of the readings' variance that the best lag must explain. */
const LEAST_EXPLAINED = 0.85
/** What a lag must leave more than another, so that the two are told apart. */
const CLEARLY = 1.8

export interface ReadingLagState {
  /** Index of the lag that explains the readings best so far. */
  index: number
  known: boolean
  /** What was told last, where that is another lag than believed, or none is. */
  suspected: number | null
  /** Of the episode: readings, their sums, and per lag the sums of the model's power. */
  count: number
  y: number
  yy: number
  x: number[]
  xx: number[]
  xy: number[]
}

/**
 * Finds out how late the readings are, from how they follow changes of the clock. For each lag the readings are regressed on the
 * model's power, laid over the sensor's window so much earlier; the lag that leaves least is it. A line has its own level
 * and slope, so errors of the model do not matter.
 */
export class ReadingLag {
  readonly state: ReadingLagState

  constructor(state?: ReadingLagState) {
    const zeros = () => LAGS_MS.map(() => 0)
    this.state = state ?? {
      index: 0,
      known: false,
      suspected: null,
      count: 0,
      y: 0,
      yy: 0,
      x: zeros(),
      xx: zeros(),
      xy: zeros(),
    }
  }

  get lagMs(): number {
    return LAGS_MS[this.state.index]!
  }

  /** Whether an episode has told; until then a reading may be of any of the lags. */
  get known(): boolean {
    return this.state.known
  }

  /**
   * One reading while power moves.
   *
   * @param readingW W
   * @param modelAt the model's power over the sensor's window under a lag, W
   */
  during(readingW: number, modelAt: (lagMs: number) => number): void {
    const s = this.state
    s.count++
    s.y += readingW
    s.yy += readingW * readingW
    for (let k = 0; k < LAGS_MS.length; k++) {
      const model = modelAt(LAGS_MS[k]!)
      s.x[k]! += model
      s.xx[k]! += model * model
      s.xy[k]! += model * readingW
    }
    if (s.count >= MOST_READINGS) this.conclude()
    else if (!s.known && s.count % LEAST_READINGS === 0) {
      // As long as nothing is known, what has been seen so far may tell: at once that nothing is late, and twice alike that it is.
      const told = this.#told()
      if (told === 0 || (told !== null && told === s.suspected)) this.believe(told)
      else s.suspected = told
    }
  }

  /** Power has come to rest: see what the episode says. */
  conclude(): void {
    const told = this.#told()
    if (told !== null) this.believe(told)
    this.abandon()
  }

  /** The first episode that tells is believed; that the lag is another one, two in a row must say. */
  believe(index: number): void {
    const s = this.state
    if (!s.known || index === s.index || index === s.suspected) {
      s.index = index
      s.known = true
      s.suspected = null
    } else s.suspected = index
  }

  /** What was seen says nothing: tenants were started or stopped meanwhile. */
  abandon(): void {
    const s = this.state
    s.count = 0
    s.y = 0
    s.yy = 0
    for (const sums of [s.x, s.xx, s.xy]) sums.fill(0)
  }

  /** The lag that the readings so far tell; null where they tell none. */
  #told(): number | null {
    const s = this.state
    if (s.count < LEAST_READINGS) return null
    const total = s.yy - (s.y * s.y) / s.count
    if (total < (LEAST_SD * s.y) ** 2 / s.count) return null
    const left = LAGS_MS.map((_, k) => this.#unexplained(k))
    const least = left.indexOf(Math.min(...left))
    // What is believed stays believed unless another lag explains clearly more.
    const best = left[s.index]! <= CLEARLY * left[least]! ? s.index : least
    if (left[best]! > (1 - LEAST_EXPLAINED) * total) return null
    const others = left.every(
      (value, k) => Math.abs(k - best) * LAG_STEP_MS <= SAME_LAG_MS || value > CLEARLY * left[best]!,
    )
    return others ? best : null
  }

  /** Sum of squares that the regression on the power under a lag leaves. */
  #unexplained(k: number): number {
    const { count, y, yy, x, xx, xy } = this.state
    const total = yy - (y * y) / count
    const spread = xx[k]! - (x[k]! * x[k]!) / count
    const common = xy[k]! - (x[k]! * y) / count
    // Power that falls where the model's rises is no explanation.
    return spread > 1e-12 && common > 0 ? Math.max(0, total - (common * common) / spread) : total
  }
}

/** Assumed share of a batch's time that is inversely proportional to the clock, until it is measured. */
const PRIOR_CLOCK_SHARE = 0.85
/** Maximum weight of the batches of one size at one clock, as a number of batches. */
const MAX_WEIGHT = 300
const TERMS = 4
const SWEEPS = 200

export interface TimesPrior {
  /** Weight of the prior, as a number of batches. */
  readonly weight: number
  /** Factor on the weight of old batches after each fit. */
  readonly kept: number
  /** Assumed ratio of the times of a batch of twice the size and of the batch, until it is measured. */
  readonly double: number
}

interface Cell {
  readonly smClockMhz: number
  readonly size: number
  count: number
  ms: number
}

/**
 * Models the time of a batch by its size n and the SM clock f: (a + b n) + (c + d n) top / f, where top is the highest
 * clock and no coefficient is negative. The first part is time in memory and on the host, which does not depend on the
 * SM clock. The coefficients are fitted to batches of the same size at different clocks.
 */
export class BatchTimes {
  readonly #topMhz: number
  readonly #prior: TimesPrior
  readonly #cells = new Map<string, Cell>()
  #terms: readonly number[] = [0, 0, 0, 0]

  constructor(topMhz: number, prior: TimesPrior = { weight: 0.5, kept: 0.9975, double: 1.7 }) {
    this.#topMhz = topMhz
    this.#prior = prior
  }

  get known(): boolean {
    return this.#terms.some((term) => term > 0)
  }

  timeMs(size: number, smClockMhz: number): number {
    const [a, b, c, d] = this.#terms as [number, number, number, number]
    return a + b * size + (c + d * size) * (this.#topMhz / smClockMhz)
  }

  /** Time of the observed batches at a clock divided by their time at the highest clock. */
  slowdown(smClockMhz: number): number {
    let [there, top] = [0, 0]
    for (const { size, count } of this.#cells.values()) {
      there += count * this.timeMs(size, smClockMhz)
      top += count * this.timeMs(size, this.#topMhz)
    }
    return top > 0 ? there / top : 1 - PRIOR_CLOCK_SHARE + (PRIOR_CLOCK_SHARE * this.#topMhz) / smClockMhz
  }

  /** @param ms total time of these batches, ms */
  observe(smClockMhz: number, size: number, count: number, ms: number): void {
    if (!(count > 0 && ms > 0)) return
    const key = `${smClockMhz} ${size}`
    const cell = this.#cells.get(key)
    if (cell) {
      cell.count += count
      cell.ms += ms
    } else this.#cells.set(key, { smClockMhz, size, count, ms })
  }

  /** Fits the coefficients by least squares of relative errors. */
  fit(): void {
    const { weight, kept, double } = this.#prior
    const cells = [...this.#cells.values()]
    if (cells.length === 0) return
    const normal = new Float64Array(TERMS * TERMS)
    const target = new Float64Array(TERMS)
    const add = (weight: number, size: number, ratio: number, ms: number) => {
      const row = [1, size, ratio, size * ratio]
      for (let i = 0; i < TERMS; i++) {
        for (let j = 0; j < TERMS; j++) normal[TERMS * i + j]! += (weight * row[i]! * row[j]!) / (ms * ms)
        target[i]! += (weight * row[i]!) / ms
      }
    }
    for (const { smClockMhz, size, count, ms } of cells) {
      add(Math.min(MAX_WEIGHT, count), size, this.#topMhz / smClockMhz, ms / count)
    }
    const { size, smClockMhz, count, ms } = cells.reduce((a, b) => (b.count > a.count ? b : a))
    const ratio = this.#topMhz / smClockMhz
    const topMs = ms / count / (1 - PRIOR_CLOCK_SHARE + PRIOR_CLOCK_SHARE * ratio)
    for (const [factor, times] of [
      [1, 1],
      [2, double],
    ] as const) {
      for (const x of [1, 2])
        add(weight, factor * size, x, topMs * times * (1 - PRIOR_CLOCK_SHARE + PRIOR_CLOCK_SHARE * x))
    }
    this.#terms = nonNegative(normal, target, this.#terms)
    for (const [key, cell] of this.#cells) {
      cell.count *= kept
      cell.ms *= kept
      if (cell.count < 0.2) this.#cells.delete(key)
    }
  }
}

/** Returns the x >= 0 that minimises x'Ax / 2 - b'x, by coordinate descent from the last solution. */
function nonNegative(normal: Float64Array, target: Float64Array, start: readonly number[]): number[] {
  const x = [...start]
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let i = 0; i < TERMS; i++) {
      let rest = target[i]!
      for (let j = 0; j < TERMS; j++) if (j !== i) rest -= normal[TERMS * i + j]! * x[j]!
      x[i] = Math.max(0, rest / normal[TERMS * i + i]!)
    }
  }
  return x
}

/** Number of samples kept: one minute at ten samples a second. */
const REMEMBERED = 600
/** A short window contradicts a longer one if their counts differ by more than this many standard deviations. */
const CONTRADICTION_SIGMAS = 4
/** A lower rate counts as a contradiction only in a window of at least this many samples. */
const LULL_SAMPLES = 4
/**
 * Weight of the prior in the estimate of burstiness, as a number of requests. The prior is Poisson traffic (burstiness
 * 1). It outweighs the measurement until more requests than this have arrived.
 */
const PRIOR_REQUESTS = 50

interface Sample {
  readonly timeMs: number
  /** Number of requests since the service began. */
  readonly arrived: number
  /** Estimate of the rate at this time, requests/s. */
  perS: number
}

/**
 * Estimates the arrival rate of a service: the mean of the longest window that no shorter window contradicts. The
 * windows go down to one sample. The measured burstiness sets how large a difference counts as a contradiction.
 */
export class ArrivalRate {
  readonly #samples: Sample[] = []
  #perS: number
  /** Variance divided by mean of the number of requests in a sample period; at least 1. */
  burstiness = 1

  /** @param expectedPerS rate to assume until requests have been counted, requests/s */
  constructor(expectedPerS: number) {
    this.#perS = expectedPerS
  }

  /** Present estimate of the rate, requests/s. */
  get perS(): number {
    return this.#perS
  }

  /** The highest estimated rate of the last minute, requests/s. */
  get peakPerS(): number {
    return this.#samples.reduce((most, { perS }) => Math.max(most, perS), this.#perS)
  }

  /** Mean rate over the given time, requests/s; the present estimate if fewer samples were counted. */
  meanPerS(seconds: number): number {
    const samples = 10 * seconds
    return this.#samples.length > samples ? this.#arrived(samples) / this.#seconds(samples) : this.#perS
  }

  /** @param arrived number of requests since the service began; a lower number than before restarts the count */
  update(timeMs: number, arrived: number): void {
    const last = this.#samples.at(-1)
    if (last && arrived < last.arrived) this.#samples.length = 0
    else if (last && timeMs <= last.timeMs) return
    const sample = { timeMs, arrived, perS: 0 }
    this.#samples.push(sample)
    if (this.#samples.length > REMEMBERED + 1) this.#samples.shift()
    if (this.#samples.length < 2) return
    this.burstiness = this.#dispersion()
    this.#perS = sample.perS = this.#longest()
  }

  /**
   * Variance divided by mean of the counts per sample. The variance is taken from differences of successive counts,
   * which a slow change of the rate does not affect.
   */
  #dispersion(): number {
    const counts = this.#samples
    let squares = 0
    for (let i = 2; i < counts.length; i++) {
      squares += (counts[i]!.arrived - 2 * counts[i - 1]!.arrived + counts[i - 2]!.arrived) ** 2
    }
    const requests = this.#arrived(counts.length - 1) + PRIOR_REQUESTS
    return Math.min(1000, Math.max(1, (squares / 2 + PRIOR_REQUESTS) / requests))
  }

  #longest(): number {
    let perS = 0
    for (let samples = 1; samples < this.#samples.length; samples *= 2) {
      const longer = this.#arrived(samples) / this.#seconds(samples)
      if (!this.#contradicted(longer, samples)) perS = longer
    }
    return perS
  }

  #contradicted(perS: number, samples: number): boolean {
    for (let shorter = 1; shorter < samples; shorter *= 2) {
      const expected = perS * this.#seconds(shorter)
      const surplus = this.#arrived(shorter) - expected
      const limit = CONTRADICTION_SIGMAS * Math.sqrt(this.burstiness * Math.max(1, expected))
      if (surplus > limit || (shorter >= LULL_SAMPLES && surplus < -limit)) return true
    }
    return false
  }

  /** Number of requests that arrived in the last samples. */
  #arrived(samples: number): number {
    return this.#samples.at(-1)!.arrived - this.#samples.at(-1 - samples)!.arrived
  }

  #seconds(samples: number): number {
    return (this.#samples.at(-1)!.timeMs - this.#samples.at(-1 - samples)!.timeMs) / 1000
  }
}

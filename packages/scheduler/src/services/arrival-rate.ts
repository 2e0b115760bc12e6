/** Number of samples kept: one minute at ten samples a second. */
const REMEMBERED = 600
/** Counts that differ by more than this many standard deviations show another rate, not the chance of one rate. */
const CONTRADICTION_SIGMAS = 4
/** A lower rate counts as a contradiction only in a window of at least this many samples. */
const LULL_SAMPLES = 4
/**
 * Weight of the prior in the estimate of burstiness, as a number of requests. The prior is Poisson traffic (burstiness
 * 1). It outweighs the measurement until more requests than this have arrived.
 */
const PRIOR_REQUESTS = 50

/**
 * Estimates the arrival rate of a service: the mean of the longest window that no shorter window contradicts. The
 * windows go down to one sample. The measured burstiness sets how large a difference counts as a contradiction.
 */
export class ArrivalRate {
  /** Numbers of requests since the service began. */
  readonly #counts: { readonly timeMs: number; readonly arrived: number }[] = []
  readonly #ratesPerS: number[] = []
  #perS: number
  #burstiness = 1

  /** @param expectedPerS rate to assume before requests were counted, requests/s */
  constructor(expectedPerS: number) {
    this.#perS = expectedPerS
  }

  /** Present estimate of the rate, requests/s. */
  get perS(): number {
    return this.#perS
  }

  /** Variance divided by mean of the number of requests in a sample period; at least 1. */
  get burstiness(): number {
    return this.#burstiness
  }

  /** The highest estimated rate of the last minute, requests/s. */
  get peakPerS(): number {
    return Math.max(this.#perS, ...this.#ratesPerS)
  }

  /** Mean rate over the given time, requests/s; the present estimate if fewer samples were counted. */
  meanPerS(seconds: number): number {
    const { length } = this.#counts
    return length > 10 * seconds ? this.#over(10 * seconds) : this.#perS
  }

  /** @param arrived number of requests since the service began; a lower number than before restarts the count */
  update(timeMs: number, arrived: number): void {
    const last = this.#counts.at(-1)
    if (last && arrived < last.arrived) this.#counts.length = 0
    else if (last && timeMs <= last.timeMs) return
    this.#counts.push({ timeMs, arrived })
    if (this.#counts.length > REMEMBERED + 1) this.#counts.shift()
    if (this.#counts.length < 2) return
    this.#burstiness = this.#dispersion()
    this.#perS = this.#longest()
    this.#ratesPerS.push(this.#perS)
    if (this.#ratesPerS.length > REMEMBERED) this.#ratesPerS.shift()
  }

  /**
   * Variance divided by mean of the counts per sample. The variance is taken from differences of successive counts,
   * which a slow change of the rate does not affect. A larger difference than `CONTRADICTION_SIGMAS` counts as that
   * many, because it is a change of the rate.
   */
  #dispersion(): number {
    const arrived = this.#counts.map((count) => count.arrived)
    let squares = 0
    for (let i = 2; i < arrived.length; i++) {
      const difference = arrived[i]! - 2 * arrived[i - 1]! + arrived[i - 2]!
      const variance = this.#burstiness * Math.max(1, arrived[i]! - arrived[i - 2]!)
      squares += Math.min(difference ** 2, CONTRADICTION_SIGMAS ** 2 * variance)
    }
    const weight = arrived.at(-1)! - arrived[0]! + PRIOR_REQUESTS
    return Math.min(1000, Math.max(1, (squares / 2 + PRIOR_REQUESTS) / weight))
  }

  #longest(): number {
    let perS = this.#over(1)
    for (let samples = 2; samples < this.#counts.length; samples *= 2) {
      const longer = this.#over(samples)
      if (!this.#contradicted(longer, samples)) perS = longer
    }
    return perS
  }

  #contradicted(perS: number, samples: number): boolean {
    for (let shorter = 1; shorter < samples; shorter *= 2) {
      const seconds = this.#seconds(shorter)
      const surplus = (this.#over(shorter) - perS) * seconds
      const sigma = Math.sqrt(this.#burstiness * Math.max(1, perS * seconds))
      if (surplus > CONTRADICTION_SIGMAS * sigma) return true
      if (shorter >= LULL_SAMPLES && -surplus > CONTRADICTION_SIGMAS * sigma) return true
    }
    return false
  }

  /** Mean rate over the given number of last samples, requests/s. */
  #over(samples: number): number {
    return (this.#counts.at(-1)!.arrived - this.#counts.at(-1 - samples)!.arrived) / this.#seconds(samples)
  }

  #seconds(samples: number): number {
    return (this.#counts.at(-1)!.timeMs - this.#counts.at(-1 - samples)!.timeMs) / 1000
  }
}

import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { type Arrivals, InvalidInputError } from '@pctodl/platform'
import { type ArrivalProcess, notNegative, positive } from './arrival-process.js'

/**
 * Compresses a process in time by `factor`, so that an hour of traffic takes `60 / factor` minutes. This also shortens
 * bursts and daily cycles. To change only the load, use `thinned` and `superposed`.
 */
export function faster(process: ArrivalProcess, factor: number): ArrivalProcess {
  positive('factor', factor)
  return {
    meanRatePerS: factor * process.meanRatePerS,
    start: (seed) => {
      const arrivals = process.start(seed)
      return { nextMs: () => arrivals.nextMs() / factor }
    },
  }
}

/**
 * Keeps each arrival with the probability `keep` (above 0, at most 1), independently of the others. The load is lower,
 * with the same pattern over time.
 */
export function thinned(process: ArrivalProcess, keep: number): ArrivalProcess {
  if (!(keep > 0 && keep <= 1)) throw new InvalidInputError('keep', keep, 'a probability above 0 and at most 1')
  return {
    meanRatePerS: keep * process.meanRatePerS,
    start: (seed) => {
      const arrivals = process.start(seed)
      const random = new SeededRandom(seedFrom(seed, 'thinned'))
      return {
        nextMs() {
          let timeMs = arrivals.nextMs()
          while (timeMs < Infinity && random.uniform() >= keep) timeMs = arrivals.nextMs()
          return timeMs
        },
      }
    },
  }
}

/** Merges the arrivals of several processes. Each process gets a seed of its own. */
export function superposed(processes: readonly ArrivalProcess[]): ArrivalProcess {
  if (processes.length === 0) throw new InvalidInputError('processes', [], 'at least one process')
  return {
    meanRatePerS: processes.reduce((sum, process) => sum + process.meanRatePerS, 0),
    start: (seed) => new Superposed(processes.map((process, i) => process.start(seedFrom(seed, 'part', i)))),
  }
}

class Superposed implements Arrivals {
  readonly #parts: readonly Arrivals[]
  readonly #nextMs: Float64Array

  constructor(parts: readonly Arrivals[]) {
    this.#parts = parts
    this.#nextMs = Float64Array.from(parts, (part) => part.nextMs())
  }

  nextMs(): number {
    let first = 0
    for (let i = 1; i < this.#nextMs.length; i++) if (this.#nextMs[i]! < this.#nextMs[first]!) first = i
    const timeMs = this.#nextMs[first]!
    if (timeMs < Infinity) this.#nextMs[first] = this.#parts[first]!.nextMs()
    return timeMs
  }
}

export interface During {
  /** Start of the process, ms. Default 0. */
  readonly fromMs?: number
  /** End of the process, ms. Default never. */
  readonly toMs?: number
}

/** Limits a process to a period, e.g. to add a burst. `meanRatePerS` of the result is the rate within the period. */
export function during(process: ArrivalProcess, { fromMs = 0, toMs = Infinity }: During): ArrivalProcess {
  notNegative('fromMs', fromMs, 'milliseconds of at least 0')
  if (!(toMs > fromMs)) throw new InvalidInputError('toMs', toMs, `milliseconds above ${fromMs}, where it begins`)
  return {
    meanRatePerS: process.meanRatePerS,
    start: (seed) => {
      const arrivals = process.start(seed)
      return {
        nextMs() {
          const timeMs = fromMs + arrivals.nextMs()
          return timeMs < toMs ? timeMs : Number.POSITIVE_INFINITY
        },
      }
    },
  }
}

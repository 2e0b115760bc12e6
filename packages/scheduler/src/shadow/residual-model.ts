import { mean, populationDeviation } from '@pctodl/numerics'
import type { Predictor } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'
import { GaussianProcess } from './gaussian-process.js'

/** A configuration as it ran, with what was measured then. */
export interface Measurement {
  readonly configuration: Configuration
  /** Samples/s. */
  readonly throughput: number
  readonly powerW: number
}

/** How far the predictor is off, as logarithms of measured over predicted. */
export interface Correction {
  readonly throughput: { readonly mean: number; readonly sd: number }
  readonly power: { readonly mean: number; readonly sd: number }
}

export interface ResidualModelOptions {
  /** Newest measurements to keep. */
  readonly history: number
  /** Most measurements to fit to; more are thinned evenly. */
  readonly maxPoints: number
  /** Refit after this many new measurements. */
  readonly refitInterval: number
}

/** Standard deviations of the predictor's error where it does not tell, and of one window's measurement; relative. */
const THROUGHPUT_SD = 0.03
const POWER_SD = 0.025
const NOISE_SD = 0.004

/** Learns from measured windows what the predictor gets wrong, and for which configurations that may be expected again. */
export class ResidualModel {
  readonly #predictor: Predictor
  readonly #options: ResidualModelOptions
  readonly #features: number[][] = []
  readonly #throughput: number[] = []
  readonly #power: number[] = []
  readonly #throughputProcess: GaussianProcess
  readonly #powerProcess: GaussianProcess
  #sinceFit = 0
  #fitted = false

  constructor(predictor: Predictor, options: ResidualModelOptions) {
    this.#predictor = predictor
    this.#options = options
    this.#throughputProcess = new GaussianProcess({ amplitude: THROUGHPUT_SD, noise: NOISE_SD })
    this.#powerProcess = new GaussianProcess({ amplitude: POWER_SD, noise: NOISE_SD })
  }

  get measurements(): number {
    return this.#features.length
  }

  learn({ configuration, throughput, powerW }: Measurement): void {
    const predicted = this.#predictor.predict(configuration)
    this.#features.push(featuresOf(configuration))
    this.#throughput.push(Math.log(throughput / predicted.throughput))
    this.#power.push(Math.log(powerW / predicted.powerW))
    if (this.#features.length > this.#options.history) {
      for (const list of [this.#features, this.#throughput, this.#power]) list.shift()
    }
    this.#sinceFit++
  }

  /** Fit anew where enough was learnt. Takes some milliseconds for hundreds of points: not for the control path. */
  refit(): void {
    const due = this.#sinceFit >= this.#options.refitInterval || (this.#sinceFit > 0 && !this.#fitted)
    if (due) this.#fit()
  }

  correction(configuration: Configuration): Correction {
    const features = featuresOf(configuration)
    return { throughput: this.#throughputProcess.predict(features), power: this.#powerProcess.predict(features) }
  }

  #fit(): void {
    this.#sinceFit = 0
    this.#fitted = true
    const count = this.#features.length
    const kept = Math.min(count, this.#options.maxPoints)
    const chosen = Array.from({ length: kept }, (_, i) => Math.floor(((i + 1) * count) / kept) - 1)
    const features = chosen.map((i) => this.#features[i]!)
    this.#throughputProcess.fit(
      features,
      chosen.map((i) => this.#throughput[i]!),
    )
    this.#powerProcess.fit(
      features,
      chosen.map((i) => this.#power[i]!),
    )
  }
}

/**
 * What the predictor's errors depend on, each divided by a distance over which they are still alike. Symmetric in the
 * tenants and of the same length for any number of them.
 */
export function featuresOf({ tenants, smClockMhz, memClockMhz }: Configuration): number[] {
  const batches = tenants.map(({ batchSize }) => Math.log2(batchSize))
  const shares = tenants.map(({ mpsPercent }) => Math.log2(mpsPercent))
  return [
    Math.log2(tenants.length) / 1.5,
    mean(batches) / 1.5,
    populationDeviation(batches),
    populationDeviation(shares),
    smClockMhz / 500,
    memClockMhz / 4000,
  ]
}

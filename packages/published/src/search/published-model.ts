import type { OperatingPoint } from '@pctodl/platform'
import type { PublishedPrediction } from '../predictor/published-predictor.js'

/**
 * A predictor of one network at one memory clock, as the published search needs it. `PublishedPredictor` is one. The SM
 * clock may be any real number.
 */
export interface PublishedModel {
  predictAll(shares: readonly number[], batches: readonly number[], smClockMhz: number): PublishedPrediction
}

/**
 * Tenants in the order in which the search admitted them. The published predictor uses the first share and batch size
 * as extra features.
 */
export interface PublishedTenants {
  readonly shares: readonly number[]
  readonly batches: readonly number[]
}

/** SM and memory clock of the search, MHz. The SM clock need not be in the board's clock table. */
export type PublishedState = OperatingPoint

/** Calls the model and caches its predictions, as the published code does. */
export class AskedModel {
  readonly #modelAt: (memClockMhz: number) => PublishedModel
  readonly #models = new Map<number, PublishedModel>()
  readonly #answers = new Map<string, PublishedPrediction>()

  constructor(modelAt: (memClockMhz: number) => PublishedModel) {
    this.#modelAt = modelAt
  }

  predict({ shares, batches }: PublishedTenants, smClockMhz: number, memClockMhz: number): PublishedPrediction {
    const key = `${shares}|${batches}|${smClockMhz}|${memClockMhz}`
    let answer = this.#answers.get(key)
    if (answer === undefined) {
      let model = this.#models.get(memClockMhz)
      if (model === undefined) {
        model = this.#modelAt(memClockMhz)
        this.#models.set(memClockMhz, model)
      }
      answer = model.predictAll(shares, batches, smClockMhz)
      this.#answers.set(key, answer)
    }
    return answer
  }
}

export function withTenant({ shares, batches }: PublishedTenants, share: number, batch: number): PublishedTenants {
  return { shares: [...shares, share], batches: [...batches, batch] }
}

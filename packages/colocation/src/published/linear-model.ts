import { leastSquares } from '@pctodl/numerics'
import { type Colocation, type Members, throughputSum } from '../colocation.js'
import { type Scaling, scalingOf, standardize } from '../math/standardize.js'
import { aggregateFeatures } from './aggregate-features.js'

/**
 * The linear model of the KACE study (SoCC 2024): ordinary least squares with an intercept from the z-scored aggregates to
 * the z-scored sum of throughputs.
 *
 * It has two faces. `predict` is honest: scaled by the training rows alone. `scoresAmong` does what the published code
 * does: it scales the candidates by their own mean and deviation, so a score depends on who else is listed. That is kept
 * for parity only.
 */
export class PublishedLinearModel {
  readonly name = 'published linear model'
  readonly #coefficients: Float64Array
  readonly #features: Scaling
  readonly #label: Scaling

  private constructor(coefficients: Float64Array, features: Scaling, label: Scaling) {
    this.#coefficients = coefficients
    this.#features = features
    this.#label = label
  }

  /**
   * @param colocations of any sizes; the published runs fit to 80 % of their training rows
   * @throws InvalidInputError with fewer than 11 colocations or where the features of the colocations are not independent
   */
  static fit(colocations: readonly Colocation[]): PublishedLinearModel {
    const raw = colocations.map(({ members }) => aggregateFeatures(members))
    const sums = colocations.map((colocation) => [throughputSum(colocation)])
    const features = scalingOf(raw)
    const label = scalingOf(sums)
    const design = raw.map((row) => [1, ...standardize(row, features)])
    const target = sums.map((row) => standardize(row, label)[0]!)
    return new PublishedLinearModel(leastSquares(design, target), features, label)
  }

  /** Predicted sum of throughputs, samples/s. */
  predict(members: Members): number {
    const z = this.#scoreOf(standardize(aggregateFeatures(members), this.#features))
    return this.#label.mean[0]! + z * this.#label.deviation[0]!
  }

  /** The published scores of a list of candidates, in units of the deviation of the candidates' own labels. */
  scoresAmong(candidates: readonly Members[]): number[] {
    const raw = candidates.map(aggregateFeatures)
    const own = scalingOf(raw)
    return raw.map((row) => this.#scoreOf(standardize(row, own)))
  }

  #scoreOf(standardized: Float64Array): number {
    let score = this.#coefficients[0]!
    for (let j = 0; j < standardized.length; j++) score += this.#coefficients[j + 1]! * standardized[j]!
    return score
  }
}

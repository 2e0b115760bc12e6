/** One reading: `value` is to equal the sum of the `terms`, each multiplied by its coefficient. */
export interface Reading {
  readonly terms: readonly number[]
  readonly value: number
  readonly weight: number
}

/** Maximum number of passes over the coefficients; they start from the last solution. */
const PASSES = 200

/** Linear least squares with coefficients of at least 0. Old readings count less with each update. */
export class NonNegativeFit {
  readonly #kept: number
  readonly #normal: Float64Array
  readonly #target: Float64Array
  #coefficients: readonly number[]

  /** @param kept factor on the weight of old readings at each update */
  constructor(terms: number, kept: number) {
    this.#kept = kept
    this.#normal = new Float64Array(terms * terms)
    this.#target = new Float64Array(terms)
    this.#coefficients = Array.from({ length: terms }, () => 0)
  }

  get coefficients(): readonly number[] {
    return this.#coefficients
  }

  /** @param prior assumed readings. Their weight stays constant. */
  update(readings: readonly Reading[], prior: readonly Reading[]): void {
    for (let i = 0; i < this.#normal.length; i++) this.#normal[i]! *= this.#kept
    for (let i = 0; i < this.#target.length; i++) this.#target[i]! *= this.#kept
    add(readings, this.#normal, this.#target)
    const normal = this.#normal.slice()
    const target = this.#target.slice()
    add(prior, normal, target)
    this.#coefficients = solve(normal, target, this.#coefficients)
  }
}

function add(readings: readonly Reading[], normal: Float64Array, target: Float64Array): void {
  const n = target.length
  for (const { terms, value, weight } of readings) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) normal[n * i + j]! += weight * terms[i]! * terms[j]!
      target[i]! += weight * terms[i]! * value
    }
  }
}

/** Returns the x >= 0 that minimises x'Ax / 2 - b'x, by coordinate descent. */
function solve(normal: Float64Array, target: Float64Array, start: readonly number[]): number[] {
  const x = [...start]
  const n = x.length
  for (let pass = 0; pass < PASSES; pass++) {
    for (let i = 0; i < n; i++) {
      let rest = target[i]!
      for (let j = 0; j < n; j++) if (j !== i) rest -= normal[n * i + j]! * x[j]!
      x[i] = Math.max(0, rest / normal[n * i + i]!)
    }
  }
  return x
}

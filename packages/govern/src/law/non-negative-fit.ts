/** `value` is to equal the sum of the `terms`, each multiplied by its coefficient. */
export interface Reading {
  readonly terms: readonly number[]
  readonly value: number
  readonly weight: number
}

/** Number of passes over the coefficients at each update. With few, the first batch times are too short. */
const PASSES = 200

/** Linear least squares with coefficients of at least 0. Old readings count less with each update. */
export class NonNegativeFit {
  readonly coefficients: number[]
  readonly #kept: number
  /** Normal equations: a row of each coefficient, with the right side in the last column. */
  readonly #sums: number[][]

  constructor(terms: number, kept: number) {
    this.#kept = kept
    this.coefficients = Array.from({ length: terms }, () => 0)
    this.#sums = this.coefficients.map(() => Array.from({ length: terms + 1 }, () => 0))
  }

  /** @param prior assumed readings. Their weight stays constant. */
  update(readings: readonly Reading[], prior: readonly Reading[]): void {
    for (const row of this.#sums)
      row.forEach((sum, j) => {
        row[j] = this.#kept * sum
      })
    add(readings, this.#sums)
    const sums = this.#sums.map((row) => [...row])
    add(prior, sums)
    // Coordinate descent to the x >= 0 that minimises x'Ax / 2 - b'x.
    const x = this.coefficients
    for (let pass = 0; pass < PASSES; pass++)
      sums.forEach((row, i) => {
        let rest = row[x.length]!
        for (let j = 0; j < x.length; j++) if (j !== i) rest -= row[j]! * x[j]!
        x[i] = Math.max(0, rest / row[i]!)
      })
  }
}

function add(readings: readonly Reading[], sums: readonly number[][]): void {
  for (const { terms, value, weight } of readings) {
    sums.forEach((row, i) => {
      for (let j = 0; j < row.length; j++) row[j]! += weight * terms[i]! * (terms[j] ?? value)
    })
  }
}

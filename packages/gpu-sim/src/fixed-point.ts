const DEPTH = 5
const MAX_STEPS = 200

/** A function from a vector of numbers within 0..1 to a vector of the same kind and length. */
export interface UnitMap {
  /** Writes the function's value at `x` to `image`. */
  map(x: Float64Array, image: Float64Array): void
}

/**
 * Finds fixed points of functions of a few dozen numbers within 0..1, by Anderson acceleration. The next guess is the
 * combination of recent guesses whose residual would be smallest if the function were linear. If two tenants displace
 * each other, plain iteration would need about forty half steps; this method needs about eight steps. Memory is kept
 * between calls.
 */
export class FixedPoint {
  #size = 0
  /** Differences of successive residuals and images, newest last. */
  #residualSteps: Float64Array[] = []
  #imageSteps: Float64Array[] = []
  #residual = new Float64Array(0)
  #lastResidual = new Float64Array(0)
  #image = new Float64Array(0)
  #lastImage = new Float64Array(0)
  readonly #normal = new Float64Array(DEPTH * DEPTH)
  readonly #weights = new Float64Array(DEPTH)

  /**
   * @param x first guess; contains the fixed point afterwards
   * @returns number of evaluations of the map
   */
  solve(unitMap: UnitMap, x: Float64Array, tolerance: number): number {
    const size = x.length
    if (size !== this.#size) this.#resize(size)
    let kept = 0
    for (let step = 1; ; step++) {
      const image = this.#image
      const residual = this.#residual
      unitMap.map(x, image)
      let largest = 0
      for (let i = 0; i < size; i++) {
        const r = image[i]! - x[i]!
        residual[i] = r
        if (r > largest) largest = r
        else if (-r > largest) largest = -r
      }
      if (largest < tolerance || step === MAX_STEPS) {
        x.set(image)
        return step
      }
      if (step > 1) kept = this.#remember(kept)
      // The history is dropped regularly. Once a number reaches 1, the function has a kink, and guesses from the other
      // side of it mislead.
      if (step % 25 === 0) kept = 0
      this.#combine(x, kept)
      this.#lastResidual.set(residual)
      this.#lastImage.set(image)
    }
  }

  #resize(size: number): void {
    const column = () => new Float64Array(size)
    this.#size = size
    this.#residualSteps = Array.from({ length: DEPTH }, column)
    this.#imageSteps = Array.from({ length: DEPTH }, column)
    this.#residual = column()
    this.#lastResidual = column()
    this.#image = column()
    this.#lastImage = column()
  }

  #remember(kept: number): number {
    const residualSteps = this.#residualSteps
    const imageSteps = this.#imageSteps
    let at = kept
    if (kept === DEPTH) {
      residualSteps.push(residualSteps.shift()!)
      imageSteps.push(imageSteps.shift()!)
      at = DEPTH - 1
    }
    const dr = residualSteps[at]!
    const di = imageSteps[at]!
    for (let i = 0; i < this.#size; i++) {
      dr[i] = this.#residual[i]! - this.#lastResidual[i]!
      di[i] = this.#image[i]! - this.#lastImage[i]!
    }
    return at + 1
  }

  #combine(x: Float64Array, kept: number): void {
    const image = this.#image
    if (kept === 0) {
      // Without a history, half a step is taken, because it cannot overshoot.
      for (let i = 0; i < x.length; i++) x[i] = 0.5 * (x[i]! + image[i]!)
      return
    }
    this.#solveNormalEquations(kept)
    x.set(image)
    for (let k = 0; k < kept; k++) {
      const weight = this.#weights[k]!
      const di = this.#imageSteps[k]!
      for (let i = 0; i < x.length; i++) x[i]! -= weight * di[i]!
    }
    for (let i = 0; i < x.length; i++) x[i] = Math.min(1, Math.max(0, x[i]!))
  }

  /**
   * Finds the weights of the recent guesses by least squares. Solves the normal equations, of at most `DEPTH` unknowns,
   * by elimination with slight regularisation.
   */
  #solveNormalEquations(kept: number): void {
    const a = this.#normal
    const b = this.#weights
    for (let row = 0; row < kept; row++) {
      const dr = this.#residualSteps[row]!
      for (let column = 0; column <= row; column++) {
        const other = this.#residualSteps[column]!
        let sum = 0
        for (let i = 0; i < this.#size; i++) sum += dr[i]! * other[i]!
        a[row * DEPTH + column] = sum
        a[column * DEPTH + row] = sum
      }
      let sum = 0
      for (let i = 0; i < this.#size; i++) sum += dr[i]! * this.#residual[i]!
      b[row] = sum
    }
    for (let k = 0; k < kept; k++) a[k * DEPTH + k]! *= 1 + 1e-10
    for (let pivot = 0; pivot < kept; pivot++) {
      const diagonal = a[pivot * DEPTH + pivot]!
      for (let row = pivot + 1; row < kept; row++) {
        const factor = diagonal > 0 ? a[row * DEPTH + pivot]! / diagonal : 0
        for (let k = pivot; k < kept; k++) a[row * DEPTH + k]! -= factor * a[pivot * DEPTH + k]!
        b[row]! -= factor * b[pivot]!
      }
    }
    for (let row = kept - 1; row >= 0; row--) {
      for (let k = row + 1; k < kept; k++) b[row]! -= a[row * DEPTH + k]! * b[k]!
      const diagonal = a[row * DEPTH + row]!
      b[row] = diagonal > 0 ? b[row]! / diagonal : 0
    }
  }
}

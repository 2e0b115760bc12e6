import { describe, expect, it } from 'vitest'
import { SeededRandom } from '../src/index.js'
import { fitVarianceComponents } from '../src/variance-components.js'

const identity = (n: number) => Float64Array.from({ length: n * n }, (_, at) => (at % (n + 1) === 0 ? 1 : 0))
/** A covariance part in which the rows of a group of `size` are fully correlated. */
const blocks = (n: number, size: number) =>
  Float64Array.from({ length: n * n }, (_, at) =>
    Math.floor(Math.floor(at / n) / size) === Math.floor((at % n) / size) ? 1 : 0,
  )

function drawn(n: number, size: number, groupVariance: number, noiseVariance: number): Float64Array {
  const random = new SeededRandom(4)
  const group = Array.from({ length: n / size }, () => Math.sqrt(groupVariance) * random.normal())
  return Float64Array.from(
    { length: n },
    (_, i) => group[Math.floor(i / size)]! + Math.sqrt(noiseVariance) * random.normal(),
  )
}

describe('variance components', () => {
  it('of noise alone are its mean square, with the likelihood that a normal distribution gives', () => {
    const n = 40
    const observations = drawn(n, 1, 0, 9)
    const meanSquare = observations.reduce((sum, value) => sum + value * value, 0) / n
    const { variances, inverse, logLikelihood } = fitVarianceComponents([identity(n)], observations, 60)
    expect(variances[0]! / meanSquare).toBeCloseTo(1, 4)
    expect(inverse[0]! * meanSquare).toBeCloseTo(1, 4)
    expect(inverse[1]).toBeCloseTo(0, 12)
    const expected = -(n / 2) * (Math.log(2 * Math.PI * meanSquare) + 1)
    expect(logLikelihood).toBeCloseTo(expected, 4)
  })

  it('of groups in common and noise are both found, and the likelihood rises with every step', () => {
    const [n, size] = [240, 4]
    const parts = [blocks(n, size), identity(n)]
    const observations = drawn(n, size, 4, 1)
    const { variances } = fitVarianceComponents(parts, observations, 60)
    expect(variances[0]).toBeGreaterThan(2.5)
    expect(variances[0]).toBeLessThan(6)
    expect(variances[1]).toBeGreaterThan(0.8)
    expect(variances[1]).toBeLessThan(1.25)
    const likelihoods = [0, 1, 2, 5, 10].map((steps) => fitVarianceComponents(parts, observations, steps).logLikelihood)
    expect(likelihoods).toEqual([...likelihoods].sort((a, b) => a - b))
    expect(likelihoods.at(-1)).toBeGreaterThan(likelihoods[0]! + 1)
  })

  it('switch off a part that the observations have no use for', () => {
    const n = 40
    const alternating = Float64Array.from({ length: n }, (_, i) => (i % 2 === 0 ? 1 : -1))
    const { variances } = fitVarianceComponents([blocks(n, 2), identity(n)], alternating, 20)
    expect(variances[0]).toBe(0)
    expect(variances[1]).toBeCloseTo(1, 4)
  })

  it('switch off a part of nearly no use, too, once it is negligible: exactly, so that nobody computes with it', () => {
    const n = 40
    const observations = Float64Array.from({ length: n }, (_, i) => (i % 2 === 0 ? 1 : -1) + 1e-3 * (i % 5))
    const after = (steps: number) =>
      fitVarianceComponents([blocks(n, 2), identity(n)], observations, steps).variances[0]!
    expect(after(1)).toBeGreaterThan(0)
    expect(after(60)).toBe(0)
  })

  it('need observations that vary', () => {
    expect(() => fitVarianceComponents([identity(3)], new Float64Array(3), 5)).toThrow(/values that vary/)
  })
})

import { describe, expect, it } from 'vitest'
import { GaussianProcess } from '../src/index.js'

const matern = (distance: number) =>
  (1 + Math.sqrt(5) * distance + (5 * distance ** 2) / 3) * Math.exp(-Math.sqrt(5) * distance)

describe('GaussianProcess', () => {
  it('goes through what was measured and returns to the mean far from it, with its prior deviation', () => {
    const process = new GaussianProcess({ amplitude: 0.03, noise: 1e-6 })
    process.fit([[0], [1], [2]], [0.01, 0.03, 0.02])
    expect(process.predict([1]).mean).toBeCloseTo(0.03, 6)
    expect(process.predict([1]).sd).toBeLessThan(1e-4)
    expect(process.predict([50]).mean).toBeCloseTo(0.02, 6)
    expect(process.predict([50]).sd).toBeCloseTo(0.03, 6)
    expect(() => process.fit([[0]], [])).toThrow('values.length: got 0')
  })

  it('is the closed form for two measurements', () => {
    const process = new GaussianProcess({ amplitude: 1, noise: 0.1 })
    process.fit([[0], [1]], [0.2, -0.2])
    const [near, far, between] = [matern(0.25), matern(0.75), matern(1)]
    // By symmetry, the two weights are opposite: +-0.2 / (1 + noise^2 - k(1)).
    const weight = 0.2 / (1.01 - between)
    expect(process.predict([0.25]).mean).toBeCloseTo(weight * (near - far), 9)
    const [sum, difference] = [(near + far) ** 2 / (2 * (1.01 + between)), (near - far) ** 2 / (2 * (1.01 - between))]
    expect(process.predict([0.25]).sd).toBeCloseTo(Math.sqrt(1 - sum - difference), 9)
  })

  it('knows only its prior without measurements', () => {
    const process = new GaussianProcess({ amplitude: 0.5, noise: 0.1 })
    process.fit([], [])
    expect(process.predict([3])).toEqual({ mean: 0, sd: 0.5 })
  })
})

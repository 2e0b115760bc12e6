import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { ReadingNoise } from '../src/reading-noise.js'

describe('how much the mean of a second fluctuates', () => {
  it('is a fifth of a percent of the cap before anything was read', () => {
    expect(new ReadingNoise().relative).toBeCloseTo(0.002, 12)
  })

  it('is learnt within some ten seconds, and forgotten as soon', () => {
    const noise = new ReadingNoise()
    for (let i = 0; i < 100; i++) noise.learn(i % 2 === 0 ? 0.01 : -0.01, 100)
    // Ten seconds are a time constant: what is left of the start is 1/e of its square, hardly anything here.
    expect(noise.relative / Math.sqrt(1e-4 * (1 - Math.exp(-1)) + 4e-6 * Math.exp(-1))).toBeCloseTo(1, 2)
    for (let i = 0; i < 400; i++) noise.learn(0, 100)
    expect(noise.relative).toBeLessThan(0.002)
  })

  it('is what one reading says that stands for a long while', () => {
    const noise = new ReadingNoise()
    noise.learn(0.02, 1e6)
    expect(noise.relative).toBeCloseTo(0.02, 12)
  })

  it('is not learnt from what is no noise: errors of more than three percent', () => {
    const noise = new ReadingNoise()
    for (const error of [0.0301, -0.0301, 0.5]) noise.learn(error, 5000)
    expect(noise.relative).toBeCloseTo(0.002, 12)
    noise.learn(-0.03, 5000)
    expect(noise.relative).toBeGreaterThan(0.02)
  })

  it('is learnt from instant readings as from the means of a second that they would have', () => {
    const random = new SeededRandom(3)
    const instants = Array.from({ length: 4000 }, () => 0.02 * random.normal())
    const noise = new ReadingNoise()
    for (const error of instants) noise.learnInstant(error, 100)
    // A mean of ten passes sqrt(1/10) of white noise.
    expect(noise.relative).toBeGreaterThan(0.75 * 0.02 * Math.sqrt(0.1))
    expect(noise.relative).toBeLessThan(1.25 * 0.02 * Math.sqrt(0.1))
  })

  it('goes on from its state', () => {
    const noise = new ReadingNoise()
    for (let i = 0; i < 20; i++) noise.learnInstant(0.01, 100)
    const again = new ReadingNoise(structuredClone(noise.state))
    again.learnInstant(-0.01, 100)
    noise.learnInstant(-0.01, 100)
    expect(again.relative).toBe(noise.relative)
  })
})

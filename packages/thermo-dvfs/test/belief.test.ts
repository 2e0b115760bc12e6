import { describe, expect, it } from 'vitest'
import { Belief } from '../src/belief.js'

const names = ['one', 'other', 'third'] as const
const fresh = () => new Belief(names, 'one', 0.2)
const sum = (belief: Belief<string>) => belief.state.reduce((total, probability) => total + probability, 0)
const favours = (favoured: string, by: number) => (name: string) => (name === favoured ? by : 1)

describe('a belief', () => {
  it('is a distribution: told, or after any evidence', () => {
    const belief = fresh()
    expect(sum(belief)).toBeCloseTo(1, 12)
    for (let i = 0; i < 50; i++) belief.update(100, favours('other', 5))
    expect(sum(belief)).toBeCloseTo(1, 3)
    expect(belief.mostProbable).toBe('other')
    belief.set('third')
    expect(sum(belief)).toBeCloseTo(1, 12)
    expect(belief.mostProbable).toBe('third')
  })

  it('is in nothing so sure that evidence could not turn it', () => {
    const belief = fresh()
    for (let i = 0; i < 5000; i++) belief.update(100, favours('one', 1e6))
    for (let i = 0; i < 20; i++) belief.update(100, favours('other', 1e6))
    expect(belief.mostProbable).toBe('other')
  })

  it('fades without evidence, to knowing nothing and no further', () => {
    const belief = fresh()
    let before = belief.of('one')
    for (const durationMs of [100, 1000, 2000]) {
      belief.update(durationMs, () => 1)
      expect(belief.of('one')).toBeLessThan(before)
      before = belief.of('one')
    }
    for (const durationMs of [60_000, 60_000, 100]) {
      belief.update(durationMs, () => 1)
      expect(belief.of('one')).toBeGreaterThan(0.2)
    }
  })

  it('counts evidence by its time, up to what is independent', () => {
    const after = (durations: readonly number[]) => {
      const belief = new Belief(names, 'one', 0)
      for (const durationMs of durations) belief.update(durationMs, favours('other', 10))
      return belief.of('other')
    }
    expect(after([100, 100])).toBeCloseTo(after([200]), 9)
    expect(after([1000])).toBeCloseTo(after([200]), 9)
    expect(after([200, 200])).toBeGreaterThan(after([200]))
  })

  it('cares for no common factor', () => {
    const [plain, scaled] = [fresh(), fresh()]
    plain.update(100, favours('other', 3))
    scaled.update(100, (name) => 7 * favours('other', 3)(name))
    expect(scaled.of('other')).toBeCloseTo(plain.of('other'), 12)
  })
})

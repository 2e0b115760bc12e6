import { describe, expect, it } from 'vitest'
import { LoadBelief, type LoadEvidence, type LoadHypothesis } from '../src/load-belief.js'

const SIGMA = 0.02

/** A belief that is told the same each 100 ms, for some seconds. */
class Load {
  readonly belief = new LoadBelief()

  for(seconds: number, evidence: Partial<LoadEvidence>): this {
    for (let i = 0; i < Math.round(10 * seconds); i++) {
      this.belief.update({
        durationMs: 100,
        error: 0,
        sigma: SIGMA,
        noise: SIGMA,
        smUtilPercent: null,
        activeShare: null,
        stallNoticeMs: 1000,
        idle: false,
        loading: false,
        ...evidence,
      })
    }
    return this
  }

  get most(): LoadHypothesis {
    return this.belief.mostProbable
  }
}

const full = () => new Load().for(5, { activeShare: 1, smUtilPercent: 90 })

describe('the load', () => {
  it('changes while tenants load, and is full where the power is what full load draws', () => {
    expect(new Load().most).toBe('changing')
    expect(full().most).toBe('full')
    expect(full().for(0.1, { loading: true }).most).toBe('changing')
  })

  it('is another one where the power is higher than known, or lower while all tenants work', () => {
    expect(new Load().for(5, {}).for(3, { error: 0.3 }).most).toBe('other')
    expect(full().for(3, { error: -0.3, activeShare: 1, smUtilPercent: 90 }).most).toBe('other')
  })

  it('is not another one before a tenant that stands still would be missed', () => {
    const low = { error: -0.3, activeShare: 1, stallNoticeMs: 2000, smUtilPercent: 90 }
    expect(full().for(1.9, low).belief.of('other')).toBeLessThan(0.1)
    expect(full().for(4, low).most).toBe('other')
  })

  it('is there in part where some tenants stand still, and idle where all do or the board says so', () => {
    expect(full().for(3, { error: -0.3, activeShare: 0.5 }).most).toBe('part')
    expect(full().for(3, { error: -0.5, activeShare: 0 }).most).toBe('idle')
    expect(full().for(3, { error: -0.5, idle: true }).most).toBe('idle')
    // Nearly all is all: a share is counted, and rounded.
    expect(full().for(4, { error: -0.3, activeShare: 0.9995 }).most).toBe('other')
  })

  it('is idle where utilisation fell with the power, in part where it fell by half', () => {
    expect(full().for(3, { error: -0.5, smUtilPercent: 5 }).most).toBe('idle')
    expect(full().for(3, { error: -0.3, smUtilPercent: 45 }).most).toBe('part')
  })

  it('has a utilisation of its own that counts as full, which new tenants forget', () => {
    const light = new Load().for(5, { smUtilPercent: 9 })
    expect(light.for(2, { smUtilPercent: 9 }).most).toBe('full')
    const next = full().for(0.1, { loading: true }).for(5, { smUtilPercent: 9 })
    expect(next.most).toBe('full')
  })

  it('that nobody counts is another one only after power was low for long', () => {
    const low = { error: -0.3, stallNoticeMs: 10_000 }
    const load = new Load().for(5, {}).for(9, low)
    expect(['part', 'idle']).toContain(load.most)
    expect(load.for(60, low).most).toBe('other')
  })

  it('is another one after a minute of low power, however late one that stands still would be missed', () => {
    const low = { error: -0.3, stallNoticeMs: 100_000 }
    const load = new Load().for(5, {}).for(59, low)
    expect(['part', 'idle']).toContain(load.most)
    expect(load.for(4, low).most).toBe('other')
  })

  it('is told nothing by a utilisation that was never above zero, or is of tenants that have just begun', () => {
    const blind = { error: null }
    const state = (load: Load) => load.belief.state.probabilities
    expect(state(new Load().for(5, { ...blind, smUtilPercent: 0 }))).toEqual(state(new Load().for(5, blind)))
    const next = () => full().for(0.1, { loading: true })
    expect(state(next().for(5, { ...blind, smUtilPercent: 0 }))).toEqual(state(next().for(5, blind)))
    const begun = () => next().for(0.1, { ...blind, smUtilPercent: 90 })
    const dropped = { ...blind, smUtilPercent: 5 }
    expect(state(begun().for(1.8, dropped))).toEqual(state(begun().for(1.8, blind)))
    expect(begun().for(1.9, dropped).belief.of('idle')).toBeGreaterThan(begun().for(1.9, blind).belief.of('idle'))
  })

  it('is judged alike on either side of the power that is expected, and is idle only far below it', () => {
    const part = (error: number) => full().for(0.5, { error }).belief.of('part')
    expect(part(0)).toBeCloseTo(part(1e-9), 6)
    expect(part(-1e-9)).toBeGreaterThan(2 * part(0))
    const idle = (sigmas: number) =>
      full()
        .for(0.5, { error: -sigmas * SIGMA })
        .belief.of('idle')
    expect(idle(3.01)).toBeGreaterThan(5 * idle(3))
  })

  it('is gone where hardly any tenant is active, and there in part where one in a hundred is', () => {
    const low = { error: -0.5, smUtilPercent: null }
    expect(full().for(3, { ...low, activeShare: 0.001 }).most).toBe('idle')
    expect(full().for(3, { ...low, activeShare: 0.01 }).most).toBe('part')
  })

  it('has been low for as long as power was, whatever one reading scatters', () => {
    const load = full().for(2, { error: -0.3 })
    expect(load.belief.lowMs).toBe(2000)
    // Within its noise a reading is not low; an end of the low time takes half as long as the time itself.
    load.for(0.1, { error: -2.9 * SIGMA })
    expect(load.belief.lowMs).toBe(1800)
    load.for(1, { error: null })
    expect(load.belief.lowMs).toBe(1800)
    load.for(0.1, { error: -3 * SIGMA })
    expect(load.belief.lowMs).toBe(1600)
    load.for(1, {})
    expect(load.belief.lowMs).toBe(0)
    load.for(1, { error: -0.3 })
    load.belief.becomeFull()
    expect([load.belief.lowMs, load.most]).toEqual([0, 'full'])
    load.for(1, { error: -0.3 })
    load.belief.begin()
    expect([load.belief.lowMs, load.most]).toEqual([0, 'changing'])
  })

  it('goes on from its state', () => {
    const load = full().for(1, { error: -0.3 })
    const again = new LoadBelief(structuredClone(load.belief.state))
    expect(again.state).toEqual(load.belief.state)
    expect(again.lowMs).toBe(1000)
  })
})

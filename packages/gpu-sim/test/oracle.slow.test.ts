import { findGpuSpec, InfeasibleCapError, smClocksAt, type Tenant } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { highestStateWithin } from '../src/clock-within-power.js'
import { findOracle, physicsOfBoard, simulateSteadyState, tenantFootprint } from '../src/index.js'
import { neighbours, shareMultisets } from '../src/slots.js'

const coarse = { sharePercentStep: 20, batchSizes: [4, 16, 32, 64], starts: 10 }

describe('the oracle', () => {
  it.each([
    ['3080Ti', 'resnet50', 200],
    ['3080Ti', 'mobilenet_v2', 300],
    ['A100', 'vgg19', 180],
    ['T4', 'efficientnet_v2_m', 62],
  ])('on %s, %s under %d W keeps the cap and is no worse than any alike tenants', (board, model, powerCapW) => {
    const spec = findGpuSpec(board)
    const { throughput, powerW, configuration } = findOracle(board, model, powerCapW, coarse)
    expect(powerW).toBeLessThanOrEqual(powerCapW)
    const simulate = simulateSteadyState(board)
    expect(simulate(configuration)).toMatchObject({ throughput, powerW })
    for (const [mpsPercent, count] of [
      [100, 1],
      [40, 2],
      [20, 5],
      [20, 3],
    ] as const) {
      for (const batchSize of coarse.batchSizes) {
        const tenants: Tenant[] = Array.from({ length: count }, () => ({ model, mpsPercent, batchSize }))
        const bytes = tenantFootprint({ spec, physics: physicsOfBoard(board) }, tenants[0]!).memoryBytes * count
        if (bytes > 0.95 * spec.memoryBytes) continue
        for (const memClockMhz of spec.performanceMemClocksMhz) {
          for (const smClockMhz of smClocksAt(spec, memClockMhz)!.filter((clock) => clock <= spec.boostClockMhz)) {
            const state = simulate({ tenants, smClockMhz, memClockMhz })
            if (state.powerW <= powerCapW) expect(state.throughput).toBeLessThanOrEqual(throughput * (1 + 1e-4))
          }
        }
      }
    }
  })

  it('finds no less under a higher cap, nor at a finer resolution', () => {
    const at = (cap: number, options = coarse) => findOracle('A100', 'maxvit_t', cap, options).throughput
    const caps = [100, 120, 150, 180, 220, 250].map((cap) => at(cap))
    caps.forEach((throughput, i) => {
      if (i > 0) expect(throughput).toBeGreaterThanOrEqual(caps[i - 1]! * (1 - 1e-3))
    })
    expect(at(150, { ...coarse, sharePercentStep: 10 })).toBeGreaterThanOrEqual(at(150) * (1 - 1e-3))
  })

  it('refines shares below its grid, and counts a clock between two states, for more and never for less', () => {
    const at = (options: object) => findOracle('3080Ti', 'efficientnet_v2_m', 150, { ...coarse, ...options })
    const plain = at({})
    const finer = at({ finestSharePercentStep: 5 })
    const between = at({ finestSharePercentStep: 5, betweenClocks: true })
    expect(finer.throughput).toBeGreaterThanOrEqual(plain.throughput)
    expect(finer.configuration.tenants.every(({ mpsPercent }) => mpsPercent % 5 === 0)).toBe(true)
    expect(between.throughput).toBeGreaterThan(finer.throughput)
    expect(between.throughput).toBeLessThan(1.03 * finer.throughput)
    expect(between.powerW).toBe(150)
    expect(() => at({ finestSharePercentStep: 7 })).toThrow('finestSharePercentStep: got 7')
  })

  it('leaves out what does not fit into memory', () => {
    const { configuration } = findOracle('3080Ti', 'maxvit_t', 300, { ...coarse, batchSizes: [32, 256] })
    const board = { spec: findGpuSpec('3080Ti'), physics: physicsOfBoard('3080Ti') }
    const bytes = configuration.tenants.reduce((sum, tenant) => sum + tenantFootprint(board, tenant).memoryBytes, 0)
    expect(bytes).toBeLessThan(board.spec.memoryBytes)
  })

  it('says what cap could be kept where none of it can be', () => {
    let caught: unknown
    try {
      findOracle('3080Ti', 'vgg19', 60, coarse)
    } catch (error) {
      caught = error
    }
    expect(caught).toBeInstanceOf(InfeasibleCapError)
    const { lowestFeasibleW } = caught as InfeasibleCapError
    expect(findOracle('3080Ti', 'vgg19', lowestFeasibleW + 0.1, coarse).powerW).toBeLessThanOrEqual(
      lowestFeasibleW + 0.1,
    )
  })

  it('refuses what it cannot search', () => {
    expect(() => findOracle('A100', 'vgg19', -1)).toThrow(/powerCapW/)
    expect(() => findOracle('A100', 'vgg19', 200, { sharePercentStep: 30 })).toThrow(/sharePercentStep/)
    expect(() => findOracle('A100', 'vgg19', 200, { batchSizes: [] })).toThrow(/batchSizes/)
    expect(() => findOracle('A100', 'vgg19', 200, { memClocksMhz: [5001] })).toThrow(/memClocksMhz: got 5001/)
    expect(() => findOracle('A100', 'lenet', 200)).toThrow(/unknown network/)
  })
})

describe('the highest state within a limit', () => {
  it('is what a scan finds, in fewer looks', () => {
    const rising = fc
      .array(fc.double({ min: 0.001, max: 10, noNaN: true }), { minLength: 1, maxLength: 130 })
      .map((steps) => {
        let sum = 0
        return steps.map((step) => {
          sum += step
          return sum
        })
      })
    fc.assert(
      fc.property(rising, fc.double({ min: 0, max: 800, noNaN: true }), (powers, limit) => {
        let looks = 0
        const found = highestStateWithin(powers.length - 1, limit, (index) => {
          looks++
          return powers[index]!
        })
        expect(found).toBe(powers.findLastIndex((power) => power <= limit))
        expect(looks).toBeLessThanOrEqual(18)
      }),
    )
  })
})

describe('the moves of the search', () => {
  it('start from every multiset of shares', () => {
    expect([...shareMultisets(3, 48)]).toEqual([[3], [2], [2, 1], [1], [1, 1], [1, 1, 1]])
    expect([...shareMultisets(10, 48)]).toHaveLength(138)
    expect([...shareMultisets(3, 2)]).toHaveLength(5)
  })

  it('stay within shares, ladder and client limit, and never stand still in place of moving', () => {
    const slot = fc.record({ units: fc.integer({ min: 1, max: 3 }), batch: fc.integer({ min: 0, max: 3 }) })
    fc.assert(
      fc.property(fc.array(slot, { minLength: 1, maxLength: 3 }), (slots) => {
        const moves = neighbours(slots, 9, 4, 4)
        expect(moves.length).toBeGreaterThan(0)
        for (const move of moves) {
          expect(move.length).toBeLessThanOrEqual(4)
          expect(move.reduce((sum, { units }) => sum + units, 0)).toBeLessThanOrEqual(9)
          expect(move.every(({ units, batch }) => units >= 1 && batch >= 0 && batch < 4)).toBe(true)
        }
      }),
    )
  })
})

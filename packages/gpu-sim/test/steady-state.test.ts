import { type Configuration, findGpuSpec, memoryBandwidth, networkNames, smClocksAt } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { simulatedBoards, simulateSteadyState } from '../src/index.js'
import { alike, arbitraryConfiguration } from './arbitrary-configuration.js'

/** The fixed point stops at 1e-7; laws are compared a little wider. */
const WITHIN = 1 + 1e-5

describe.each(simulatedBoards)('the physics of %s', (board) => {
  const spec = findGpuSpec(board)
  // No power limit: the laws are those of the hardware, not of the firmware that throttles it.
  const simulate = simulateSteadyState(board, { powerLimitW: 1e9 })
  const configurations = arbitraryConfiguration(board)
  const check = (law: (configuration: Configuration) => void, numRuns = cases(200)) =>
    fc.assert(fc.property(configurations, law), { numRuns })
  const nextClock = ({ smClockMhz, memClockMhz }: Configuration) => {
    const states = smClocksAt(spec, memClockMhz)!
    return states[Math.min(states.length - 1, states.indexOf(smClockMhz) + 7)]!
  }

  it.each(networkNames)('gives alike tenants of %s no less at a higher SM clock', (network) => {
    check((drawn) => {
      const configuration = alike(drawn, network)
      const low = simulate(configuration)
      const high = simulate({ ...configuration, smClockMhz: nextClock(configuration) })
      expect(high.throughput * WITHIN).toBeGreaterThanOrEqual(low.throughput)
    }, cases(40))
  })

  it.each(networkNames)('draws more for %s at a higher SM clock', (network) => {
    check((drawn) => {
      const configuration = alike(drawn, network)
      const higher = nextClock(configuration)
      if (higher === configuration.smClockMhz) return
      const low = simulate(configuration)
      expect(simulate({ ...configuration, smClockMhz: higher }).powerW).toBeGreaterThan(low.powerW)
    }, cases(40))
  })

  it.each(networkNames)('draws more with %s than without', (network) => {
    check(({ smClockMhz, memClockMhz, tenants }) => {
      const configuration = { smClockMhz, memClockMhz, tenants: [{ ...tenants[0]!, model: network }] }
      expect(simulate(configuration).powerW).toBeGreaterThan(simulate({ ...configuration, tenants: [] }).powerW)
    }, cases(40))
  })

  it('gives unlike tenants hardly less in sum at a higher SM clock', () => {
    // A tenant that the clock lets ask for more DRAM bandwidth takes some from those with cheaper samples.
    check((configuration) => {
      const low = simulate(configuration)
      const high = simulate({ ...configuration, smClockMhz: nextClock(configuration) })
      expect(high.throughput).toBeGreaterThanOrEqual(low.throughput * 0.98)
    })
  })

  it('draws more at a higher SM clock', () => {
    check((configuration) => {
      const higher = nextClock(configuration)
      if (higher === configuration.smClockMhz) return
      const low = simulate(configuration)
      expect(simulate({ ...configuration, smClockMhz: higher }).powerW).toBeGreaterThan(low.powerW)
    })
  })

  it('gives no less at a higher memory clock', () => {
    const clocks = [...spec.performanceMemClocksMhz].reverse()
    check((configuration) => {
      const states = clocks.map((memClockMhz) => simulate({ ...configuration, memClockMhz }).throughput)
      states.forEach((throughput, i) => {
        if (i > 0) expect(throughput * WITHIN).toBeGreaterThanOrEqual(states[i - 1]!)
      })
    })
  })

  it('gives a tenant no less for a larger share of its own', () => {
    check((configuration) => {
      const used = configuration.tenants.reduce((sum, tenant) => sum + tenant.mpsPercent, 0)
      if (used >= 100) return
      const [first, ...others] = configuration.tenants
      const grown = [{ ...first!, mpsPercent: first!.mpsPercent + 5 }, ...others]
      const before = simulate(configuration).tenants[0]!.throughput
      const after = simulate({ ...configuration, tenants: grown }).tenants[0]!.throughput
      expect(after * WITHIN).toBeGreaterThanOrEqual(before)
    })
  })

  it('takes something from a tenant, or nothing, when another arrives', () => {
    check((configuration) => {
      if (configuration.tenants.length < 2) return
      const alone = simulate({ ...configuration, tenants: configuration.tenants.slice(0, -1) })
      const together = simulate(configuration)
      alone.tenants.forEach((tenant, i) => {
        expect(tenant.throughput * WITHIN).toBeGreaterThanOrEqual(together.tenants[i]!.throughput)
      })
    })
  })

  it('keeps utilisations in range and DRAM traffic within the bandwidth', () => {
    check((configuration) => {
      const state = simulate(configuration)
      for (const percent of [state.smUtilPercent, state.memUtilPercent]) {
        expect(percent).toBeGreaterThanOrEqual(0)
        expect(percent).toBeLessThanOrEqual(100)
      }
      expect(state.dramBytesPerS).toBeLessThanOrEqual(memoryBandwidth(spec, configuration.memClockMhz))
      expect(state.busySms).toBeLessThanOrEqual(spec.smCount)
      for (const { throughput, batchMs } of state.tenants) {
        expect(throughput).toBeGreaterThan(0)
        expect(Number.isFinite(batchMs)).toBe(true)
      }
    })
  })

  it('does not care about the order of the tenants', () => {
    check((configuration) => {
      const forward = simulate(configuration)
      const backward = simulate({ ...configuration, tenants: [...configuration.tenants].reverse() })
      expect(backward.throughput).toBeCloseTo(forward.throughput, 6)
      expect(backward.powerW).toBeCloseTo(forward.powerW, 6)
      expect(backward.tenants.at(-1)!.throughput).toBeCloseTo(forward.tenants[0]!.throughput, 6)
    })
  })

  it('adds up', () => {
    check((configuration) => {
      const { tenants, throughput } = simulate(configuration)
      expect(tenants.reduce((sum, tenant) => sum + tenant.throughput, 0)).toBeCloseTo(throughput, 6)
    })
  })

  it('lowers the clock under a power limit', () => {
    const heavy: Configuration = {
      tenants: Array.from({ length: 4 }, () => ({ model: 'vgg19', mpsPercent: 25, batchSize: 32 })),
      smClockMhz: spec.boostClockMhz,
      memClockMhz: spec.performanceMemClocksMhz[0]!,
    }
    const powerLimitW = 0.7 * spec.powerLimitW.default
    const limited = simulateSteadyState(board, { powerLimitW })(heavy)
    expect(limited.powerW).toBeLessThanOrEqual(powerLimitW)
    expect(limited.smClockMhz).toBeLessThan(heavy.smClockMhz)
    expect(limited.throughput).toBeLessThan(simulate(heavy).throughput)
  })
})

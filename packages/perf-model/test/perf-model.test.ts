import { loadPerfModel, PerfModel, parsePerfModelParameters, shippedParameters } from '@pctodl/perf-model'
import { InvalidInputError, memoryBandwidth, smClocksAt, type Tenant, UnknownNameError } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { correctionGrid } from '../src/correction-grid.js'
import { hostNodesOf } from '../src/corrections.js'
import { arbitraryTenants } from './arbitrary-tenants.js'

/** The laws hold to the tolerance of the fixed points. */
const SLACK = 1 - 1e-9

describe.each(Object.keys(shippedParameters))('PerfModel of %s', (board) => {
  const model = loadPerfModel(board)
  const { boardParameters, networks } = parsePerfModelParameters(shippedParameters[board])
  const tenants = arbitraryTenants(model)
  const memClock = fc.constantFrom(...model.memClocksMhz)
  const clocksMhz = smClocksAt(model.spec, model.memClocksMhz[0]!)!
  const smClock = fc.constantFrom(...clocksMhz)
  const parametersOf = (tenant: Tenant) => networks.find((network) => network.name === tenant.model)!
  /**
   * The correction of the host's speed. Its logarithm is interpolated along the batch size, the factor itself along the
   * number of tenants.
   */
  const hostFactor = (tenant: Tenant, count: number) => {
    const counts = correctionGrid.tenants
    const below = Math.max(...counts.filter((known) => known <= count))
    const above = counts.find((known) => known >= count) ?? below
    const part = above === below ? 0 : (count - below) / (above - below)
    const weighted = [
      [below, 1 - part],
      [above, part],
    ] as const
    return weighted.reduce((sum, [at, weight]) => {
      const nodes = hostNodesOf(tenant.batchSize, at)
      const { hostSpeed } = parametersOf(tenant)
      return sum + weight * Math.exp(nodes.reduce((all, node) => all + node.weight * hostSpeed[node.index]!, 0))
    }, 0)
  }

  it('predicts finite, positive values and utilisations from 0 to 100 everywhere', () => {
    fc.assert(
      fc.property(tenants, smClock, memClock, (list, smClockMhz, memClockMhz) => {
        const prediction = model.predict({ tenants: list, smClockMhz, memClockMhz })
        const { powerW, smUtilPercent, memUtilPercent } = prediction
        expect(prediction.tenants).toHaveLength(list.length)
        const sum = prediction.tenants.reduce((total, tenant) => total + tenant.throughput, 0)
        expect(prediction.throughput).toBeCloseTo(sum, 6)
        for (const [i, { throughput, latencyMs }] of prediction.tenants.entries()) {
          expect(throughput).toBeGreaterThan(0)
          expect(throughput * latencyMs).toBeCloseTo(1e3 * list[i]!.batchSize, 6)
        }
        const idle = boardParameters.idlePowerW.find((entry) => entry.memClockMhz === memClockMhz)!
        expect(powerW).toBeGreaterThan(idle.powerW)
        expect(powerW).toBeLessThan(3 * model.spec.powerLimitW.max)
        for (const util of [smUtilPercent, memUtilPercent]) {
          expect(util).toBeGreaterThanOrEqual(0)
          expect(util).toBeLessThanOrEqual(100)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('leaves the SMs idle while small batches are launched', () => {
    const busy = (count: number) => {
      const tenants = new Array<Tenant>(count).fill({ model: 'mnasnet1_0', mpsPercent: 40, batchSize: 1 })
      return model.predict({ tenants, smClockMhz: 1200, memClockMhz: model.memClocksMhz[0]! }).smUtilPercent / 100
    }
    expect(busy(1)).toBeLessThan(0.8)
    // The board is idle when all tenants are idle at once.
    expect(1 - busy(2)).toBeGreaterThan(0.9 * (1 - busy(1)) ** 2)
    expect(1 - busy(2)).toBeLessThan(1.1 * (1 - busy(1)) ** 2)
  })

  it('does not depend on the order of the tenants', () => {
    fc.assert(
      fc.property(tenants, smClock, memClock, fc.integer(), (list, smClockMhz, memClockMhz, seed) => {
        const order = list.map((_, i) => i).sort((a, b) => Math.sin(seed + a) - Math.sin(seed + b))
        const original = model.predict({ tenants: list, smClockMhz, memClockMhz })
        const shuffled = model.predict({ tenants: order.map((i) => list[i]!), smClockMhz, memClockMhz })
        expect(shuffled.throughput / original.throughput).toBeCloseTo(1, 8)
        expect(shuffled.powerW / original.powerW).toBeCloseTo(1, 8)
        order.forEach((i, at) => {
          expect(shuffled.tenants[at]!.throughput / original.tenants[i]!.throughput).toBeCloseTo(1, 8)
        })
      }),
    )
  })

  it('never slows a tenant down, and always draws more, as the SM clock rises', () => {
    fc.assert(
      fc.property(tenants, memClock, (list, memClockMhz) => {
        let last = model.predict({ tenants: list, smClockMhz: clocksMhz[0]!, memClockMhz })
        for (const smClockMhz of clocksMhz.slice(1)) {
          const next = model.predict({ tenants: list, smClockMhz, memClockMhz })
          expect(next.powerW).toBeGreaterThan(last.powerW)
          list.forEach((_, i) => {
            expect(next.tenants[i]!.throughput).toBeGreaterThanOrEqual(last.tenants[i]!.throughput * SLACK)
          })
          last = next
        }
      }),
      { numRuns: 60 },
    )
  })

  it('never slows a tenant down as the memory clock rises', () => {
    fc.assert(
      fc.property(tenants, smClock, (list, smClockMhz) => {
        const predictions = model.memClocksMhz.map((memClockMhz) =>
          model.predict({ tenants: list, smClockMhz, memClockMhz }),
        )
        // Memory clocks descend.
        predictions.slice(1).forEach((slower, k) => {
          list.forEach((_, i) => {
            expect(predictions[k]!.tenants[i]!.throughput).toBeGreaterThanOrEqual(slower.tenants[i]!.throughput * SLACK)
          })
        })
      }),
      { numRuns: 300 },
    )
  })

  it('never slows a tenant down as its share grows', () => {
    fc.assert(
      fc.property(
        arbitraryTenants(model, 80),
        fc.nat(),
        fc.integer({ min: 1, max: 20 }),
        smClock,
        memClock,
        (list, pick, more, smClockMhz, memClockMhz) => {
          const i = pick % list.length
          const grown = list.map((tenant, k) =>
            k === i ? { ...tenant, mpsPercent: tenant.mpsPercent + more } : tenant,
          )
          const before = model.predict({ tenants: list, smClockMhz, memClockMhz }).tenants[i]!.throughput
          const after = model.predict({ tenants: grown, smClockMhz, memClockMhz }).tenants[i]!.throughput
          expect(after).toBeGreaterThanOrEqual(before * SLACK)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('keeps to the launch floor and to the bandwidth ceiling', () => {
    fc.assert(
      fc.property(tenants, smClock, memClock, (list, smClockMhz, memClockMhz) => {
        const prediction = model.predict({ tenants: list, smClockMhz, memClockMhz })
        const traffic = list.map((tenant) => {
          const { mixedMbPerBatch, mixedMbPerSample, streamMbPerSample } = parametersOf(tenant)
          return mixedMbPerBatch + (mixedMbPerSample + streamMbPerSample) * tenant.batchSize
        })
        const total = traffic.reduce((sum, mb) => sum + mb, 0)
        const missPart = total / (total + boardParameters.cacheReachMb)
        let bytesPerSecond = 0
        list.forEach((tenant, i) => {
          const { latencyMs } = prediction.tenants[i]!
          const { launchMs, hostPerSampleMs } = parametersOf(tenant)
          const hostMs = launchMs + hostPerSampleMs * tenant.batchSize
          expect(latencyMs).toBeGreaterThanOrEqual((hostMs / hostFactor(tenant, list.length)) * SLACK)
          bytesPerSecond += (traffic[i]! * missPart * 1e6) / (latencyMs / 1e3)
        })
        const ceiling = boardParameters.bandwidthCeiling * memoryBandwidth(model.spec, memClockMhz)
        expect(bytesPerSecond).toBeLessThanOrEqual(ceiling)
      }),
      { numRuns: 300 },
    )
  })

  it('solves for the highest clock of the table under a cap, as a scan of the table does', () => {
    fc.assert(
      fc.property(tenants, memClock, fc.double({ min: 20, max: 500, noNaN: true }), (list, memClockMhz, powerCapW) => {
        const allowed = clocksMhz.filter(
          (smClockMhz) => model.predict({ tenants: list, smClockMhz, memClockMhz }).powerW <= powerCapW,
        )
        expect(model.solveSmClock(list, memClockMhz, powerCapW)).toBe(allowed.at(-1))
      }),
    )
  })

  it('lets memory needs grow with the batch', () => {
    for (const name of model.networks) {
      const bytes = [1, 32, 256].map((batchSize) => model.memoryBytes({ model: name, mpsPercent: 20, batchSize }))
      expect(bytes[0]).toBeGreaterThan(100 * 1024 ** 2)
      expect(bytes[1]).toBeGreaterThan(bytes[0]!)
      expect(bytes[2]).toBeGreaterThan(bytes[1]!)
    }
  })
})

describe('bad input', () => {
  const model = loadPerfModel('3080Ti')
  const good: Tenant = { model: 'resnet50', mpsPercent: 40, batchSize: 8 }
  const point = { smClockMhz: 1500, memClockMhz: 9501 }

  it.each<[string, Tenant[]]>([
    ['tenants', []],
    ['tenants', Array.from({ length: 49 }, () => ({ ...good, mpsPercent: 1 }))],
    ['tenants[0].mpsPercent', [{ ...good, mpsPercent: 101 }]],
    ['tenants[1].mpsPercent', [good, { ...good, mpsPercent: 0 }]],
    ['tenants[0].mpsPercent', [{ ...good, mpsPercent: Number.NaN }]],
    ['tenants[0].batchSize', [{ ...good, batchSize: 0 }]],
    ['tenants[0].batchSize', [{ ...good, batchSize: 257 }]],
    ['tenants[0].batchSize', [{ ...good, batchSize: 2.5 }]],
    ['tenants[0].batchSize', [{ ...good, batchSize: Number.NaN }]],
    ['sum of tenants[].mpsPercent', [good, good, good]],
  ])('names %s', (field, tenants) => {
    for (const act of [() => model.predict({ ...point, tenants }), () => model.solveSmClock(tenants, 9501, 250)]) {
      expect(act).toThrowError(InvalidInputError)
      expect(act).toThrowError(`${field}: `)
    }
  })

  it('names a clock that is none', () => {
    const tenants = [good]
    for (const smClockMhz of [0, 209, 2101, Number.NaN]) {
      expect(() => model.predict({ tenants, smClockMhz, memClockMhz: 9501 })).toThrowError('smClockMhz: ')
    }
    for (const memClockMhz of [9251, 405, Number.NaN]) {
      expect(() => model.predict({ tenants, smClockMhz: 1500, memClockMhz })).toThrowError('memClockMhz: ')
      expect(() => model.solveSmClock(tenants, memClockMhz, 250)).toThrowError('memClockMhz: ')
    }
    expect(() => model.solveSmClock(tenants, 9501, Number.NaN)).toThrowError('powerCapW: ')
  })

  it('lists the networks that were fitted, and the boards that have parameters', () => {
    const unknown = { ...good, model: 'alexnet' }
    expect(() => model.predict({ ...point, tenants: [unknown] })).toThrowError(UnknownNameError)
    expect(() => model.predict({ ...point, tenants: [unknown] })).toThrowError(/alexnet.*resnet50/)
    expect(() => model.memoryBytes(unknown)).toThrowError(UnknownNameError)
    expect(() => model.memoryBytes({ ...good, batchSize: 0 })).toThrowError(InvalidInputError)
    expect(() => loadPerfModel('V100')).toThrowError(/V100.*3080Ti, A100/)
    expect(() => loadPerfModel('toString')).toThrowError(UnknownNameError)
    expect(loadPerfModel('NVIDIA GeForce RTX 3080 Ti').spec.key).toBe('3080Ti')
  })

  it('stays usable after an error', () => {
    const configuration = { ...point, tenants: [good] }
    const before = model.predict(configuration)
    expect(() => model.predict({ ...point, tenants: [good, { ...good, batchSize: 0 }] })).toThrow()
    expect(model.predict(configuration)).toEqual(before)
  })

  it('refuses parameters of another board', () => {
    const parameters = parsePerfModelParameters(shippedParameters['3080Ti'])
    expect(() => new PerfModel(parameters, loadPerfModel('A100').spec)).toThrowError('parameters.board')
    expect(() => new PerfModel({ ...parameters, board: 'A100' })).toThrowError('memory clocks of A100')
  })
})

import { loadPerfModel, PerfModel, parsePerfModelParameters, shippedParameters } from '@pctodl/perf-model'
import { BatchCostTable, BatchQueue, batchSizesUpTo, ServingModel } from '@pctodl/perf-model/serving'
import type { Configuration, Service } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const model = loadPerfModel('A100')
const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 60 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 0,
}
const photos: Service = { ...search, name: 'photos', model: 'mobilenet_v2', maxQueueDelayMs: 5 }
const configuration: Configuration = {
  tenants: [
    { model: 'resnet50', mpsPercent: 60, batchSize: 16, service: 'search' },
    { model: 'mobilenet_v2', mpsPercent: 40, batchSize: 16, service: 'photos' },
  ],
  smClockMhz: 1200,
  memClockMhz: 1215,
}

/** Latency that a share of M/D/1 requests does not exceed (Erlang 1909, Crommelin 1932). */
function latencyOfMd1(share: number, serviceMs: number, load: number): number {
  const within = (waitMs: number) => {
    let sum = 0
    for (let k = 0; k * serviceMs <= waitMs; k++) {
      let term = Math.exp((load / serviceMs) * (waitMs - k * serviceMs))
      for (let j = 1; j <= k; j++) term *= ((-load / serviceMs) * (waitMs - k * serviceMs)) / j
      sum += term
    }
    return (1 - load) * sum
  }
  let [low, high] = [0, 200]
  for (let i = 0; i < 50; i++) {
    const middle = (low + high) / 2
    if (within(middle) < share) low = middle
    else high = middle
  }
  return serviceMs + high
}

describe('BatchQueue', () => {
  it.each([0.3, 0.6, 0.8])('is M/D/1 where a batch is one request, at a load of %d', (load) => {
    const queue = new BatchQueue([1])
    queue.solve({ ratePerMs: load / 4, batchMs: Float64Array.of(4), servers: 1, delayMs: 0 })
    expect(Math.abs(queue.utilisation / load - 1)).toBeLessThan(0.005)
    for (const share of [0.9, 0.99]) {
      const exactMs = latencyOfMd1(share, 4, load)
      expect(Math.abs(queue.quantileMs(share) / exactMs - 1), `p${100 * share}`).toBeLessThan(0.05)
    }
    expect(queue.within(queue.quantileMs(0.9))).toBeCloseTo(0.9, 1)
  })

  it('answers as many as come, and no sooner than a batch takes', () => {
    const inputs = fc.record({
      load: fc.double({ min: 0.05, max: 0.93, noNaN: true }),
      most: fc.integer({ min: 1, max: 32 }),
      firstMs: fc.double({ min: 0.5, max: 20, noNaN: true }),
      slope: fc.double({ min: 0, max: 1, noNaN: true }),
      delayMs: fc.constantFrom(0, 2, 10),
      servers: fc.integer({ min: 1, max: 3 }),
      burstiness: fc.constantFrom(1, 1.5, 4),
    })
    fc.assert(
      fc.property(inputs, ({ load, most, firstMs, slope, delayMs, servers, burstiness }) => {
        const sizes = batchSizesUpTo(most)
        const batchMs = Float64Array.from(sizes, (size) => firstMs * (1 + slope * (size - 1)))
        const ratePerMs = (load * most * servers) / batchMs.at(-1)!
        const queue = new BatchQueue(sizes)
        queue.solve({ ratePerMs, batchMs, servers, delayMs, burstiness })
        expect(queue.shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 6)
        // A batch holds the requests that arrive in its cycle, padded to one of the sizes.
        const meanBatch = ratePerMs / queue.batchesPerMs
        let [least, largest] = [0, 0]
        queue.shares.forEach((share, s) => {
          least += share * (s === 0 ? 1 : sizes[s - 1]! + 1)
          largest += share * sizes[s]!
        })
        expect(meanBatch).toBeGreaterThan(0.9 * least)
        expect(meanBatch).toBeLessThan(1.1 * largest)
        expect(queue.quantileMs(0.01)).toBeGreaterThan(0.98 * batchMs[0]!)
        expect(queue.quantileMs(0.99)).toBeGreaterThanOrEqual(queue.quantileMs(0.5))
      }),
      { numRuns: 60 },
    )
  })

  it('says when the servers cannot keep up', () => {
    const queue = new BatchQueue([1, 2, 4])
    queue.solve({ ratePerMs: 1, batchMs: Float64Array.of(4, 4, 4), servers: 1, delayMs: 0 })
    expect(queue.overloaded).toBe(true)
    expect([queue.quantileMs(0.99), queue.within(1e9), queue.utilisation, queue.batchesPerMs]).toEqual([
      Infinity,
      0,
      1,
      0.25,
    ])
  })
})

describe('ServingModel', () => {
  const serving = new ServingModel(model, configuration, [search, photos])
  const saturated = model.predict(configuration)

  it('tells more latency and more power the more is asked for', () => {
    let before = serving.predict([1, 1])
    for (const part of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      const now = serving.predict(saturated.tenants.map(({ throughput }) => part * throughput))
      expect(now.powerW).toBeGreaterThan(before.powerW)
      now.services.forEach((service, i) => {
        expect(service.p99Ms).toBeGreaterThan(0.97 * before.services[i]!.p99Ms)
        expect(service.utilisation).toBeGreaterThan(before.services[i]!.utilisation)
        expect(service.meanBatch).toBeGreaterThan(before.services[i]!.meanBatch - 1e-6)
      })
      before = now
    }
    expect(before.powerW).toBeLessThan(saturated.powerW)
    expect(before.powerW / saturated.powerW).toBeGreaterThan(0.85)
  })

  it('begins at a batch of one, alone', () => {
    const [first] = serving.predict([0.01, 0.01]).services
    const alone = model.predict({ ...configuration, tenants: [{ ...configuration.tenants[0]!, batchSize: 1 }] })
    expect(first!.p50Ms / alone.tenants[0]!.latencyMs).toBeCloseTo(1, 1)
    expect(first).toMatchObject({ attainment: 1, objectiveMet: true, answeredPerS: 0.01 })
  })

  it('says which service cannot keep up, and what it answers then', () => {
    const { services } = serving.predict([100_000, 10])
    expect(services[0]).toMatchObject({ p99Ms: Infinity, attainment: 0, objectiveMet: false, utilisation: 1 })
    expect(services[0]!.answeredPerS / saturated.tenants[0]!.throughput).toBeGreaterThan(0.95)
    expect(services[1]!.objectiveMet).toBe(true)
  })

  it('is the same whatever was asked before, but for what the last iteration leaves', () => {
    const fresh = new ServingModel(model, configuration, [search, photos]).predict([300, 200])
    serving.predict([100_000, 1])
    const again = serving.predict([300, 200])
    expect(again.powerW / fresh.powerW).toBeCloseTo(1, 2)
    expect(again.services[0]!.p99Ms / fresh.services[0]!.p99Ms).toBeCloseTo(1, 1)
  })

  it('gives the same attainment, capacity and power without quantiles', () => {
    const fresh = () => new ServingModel(model, configuration, [search, photos])
    const [attainments, capacitiesPerS] = [new Float64Array(2), new Float64Array(2)]
    const powerW = fresh().attainments([300, 200], attainments, [1, 4], capacitiesPerS)
    const full = fresh().predict([300, 200], [1, 4])
    expect(powerW).toBe(full.powerW)
    expect([...attainments]).toEqual(full.services.map(({ attainment }) => attainment))
    expect([...capacitiesPerS]).toEqual(full.services.map(({ capacityPerS }) => capacityPerS))
  })

  it('shares what is known of tenants alone with others, whatever clocks they run at', () => {
    const costs = new BatchCostTable(model)
    const predicted = (smClockMhz: number, shared: { readonly costs?: BatchCostTable }) =>
      new ServingModel(model, { ...configuration, smClockMhz }, [search, photos], shared).predict([300, 200])
    for (const smClockMhz of [1200, 600, 1200, 900, 600]) {
      expect(predicted(smClockMhz, { costs })).toEqual(predicted(smClockMhz, {}))
    }
  })

  it('draws the power of the equations at zero activity while no request arrives', () => {
    const parameters = parsePerfModelParameters(shippedParameters['A100'])
    // Batches without energy, and a voltage that is far from linear in the clock.
    Object.assign(parameters.boardParameters, { voltageSlope: 1.8, voltageBend: 2.8, smPowerW: 0 })
    for (const network of parameters.networks) {
      Object.assign(network, { coreEnergyMj: 0, batchEnergyMj: 0, memoryEnergyMj: 0, corrections: [] })
    }
    const free = new PerfModel(parameters)
    for (const smClockMhz of [300, 1100, 1250, 1410]) {
      const { powerW } = free.predict({ ...configuration, smClockMhz })
      const idle = new ServingModel(free, { ...configuration, smClockMhz }, [search, photos]).predict([1e-3, 1e-3])
      expect(idle.powerW).toBeCloseTo(powerW, 6)
    }
  })

  it.each<[string, () => unknown]>([
    ['services[1].weight', () => new ServingModel(model, configuration, [search, { ...photos, weight: 0 }])],
    ['tenants[0].service', () => new ServingModel(model, configuration, [photos])],
    ['tenants', () => new ServingModel(model, configuration, [search, photos, { ...search, name: 'maps' }])],
    ['tenants[0].model', () => new ServingModel(model, configuration, [{ ...search, model: 'vgg19' }, photos])],
    ['ratesPerS', () => serving.predict([1])],
    ['ratesPerS[1]', () => serving.predict([1, 0])],
  ])('refuses a wrong %s by name', (field, make) => {
    expect(make).toThrow(expect.objectContaining({ field }))
  })
})

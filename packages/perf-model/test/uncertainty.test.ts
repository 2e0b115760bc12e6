import { describeOutside, fitPerfModel, loadPerfModel, PerfModel } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { measuredRows } from './synthetic-rows.js'

const truth = loadPerfModel('A100')
const resnet = (mpsPercent: number, batchSize = 16): Tenant => ({ model: 'resnet50', mpsPercent, batchSize })
const point = { smClockMhz: 1200, memClockMhz: 1215 }

describe('the standard deviation of a prediction', () => {
  const { parameters } = fitPerfModel(measuredRows(truth, 1, 250), truth.spec, {
    source: 'synthetic rows',
    folds: 2,
    starts: 1,
  })
  const model = new PerfModel(parameters)

  it('covers about two thirds of what was not seen, and p99 latencies nearly all', () => {
    const rows = measuredRows(truth, 3, 400)
    const within = { throughput: 0, power: 0, latency: 0, tenants: 0 }
    for (const { tenants, smClockMhz, memClockMhz, throughput, powerAverageW, tenantLatencyMs } of rows) {
      const prediction = model.predict({ tenants, smClockMhz, memClockMhz })
      if (Math.abs(prediction.throughput - throughput) < prediction.throughputSd!) within.throughput++
      if (Math.abs(prediction.powerW - powerAverageW) < prediction.powerSdW!) within.power++
      prediction.tenants.forEach(({ p99LatencyMs }, i) => {
        within.tenants++
        if (tenantLatencyMs[i]! < p99LatencyMs!) within.latency++
      })
    }
    for (const count of [within.throughput, within.power]) {
      expect(count / rows.length).toBeGreaterThan(0.55)
      expect(count / rows.length).toBeLessThan(0.95)
    }
    expect(within.latency / within.tenants).toBeGreaterThan(0.95)
  })

  it('is given for every region, those without rows included', () => {
    const several = [resnet(20), { ...resnet(20), model: 'mobilenet_v2' }]
    for (const tenants of [[resnet(50)], [resnet(20), resnet(20)], [resnet(20), resnet(30)], several]) {
      const { throughputSd, powerSdW } = model.predict({ ...point, tenants })
      expect(throughputSd).toBeGreaterThan(0)
      expect(powerSdW).toBeGreaterThan(0)
    }
  })

  it('is believable in corners without rows', () => {
    const vgg = { model: 'vgg19', mpsPercent: 2, batchSize: 1 }
    const corner = truth.predict({ tenants: [vgg], smClockMhz: 210, memClockMhz: 1215 })
    expect(corner.throughputSd!).toBeLessThanOrEqual(corner.throughput)
    expect(corner.tenants[0]!.p99LatencyMs! / corner.tenants[0]!.latencyMs).toBeLessThan(100)
    const small = truth.predict({ tenants: Array<Tenant>(11).fill(resnet(3, 256)), smClockMhz: 210, memClockMhz: 1215 })
    expect(small.powerSdW! / small.powerW).toBeGreaterThanOrEqual(5e-4 * (1 - 1e-12))
  })
})

describe('domain', () => {
  it('is inside what was measured', () => {
    const { inside, outside, distance } = truth.domain({ ...point, tenants: [resnet(50), resnet(20)] })
    expect({ inside, outside }).toEqual({ inside: true, outside: [] })
    expect(distance).toBeLessThanOrEqual(1)
    expect(distance).toBe(truth.predict({ ...point, tenants: [resnet(50), resnet(20)] }).distance)
  })

  it('names each field that goes beyond it', () => {
    const fieldsOf = (tenants: readonly Tenant[], at = point) =>
      truth.domain({ ...at, tenants }).outside.map((entry) => entry.field)
    expect(fieldsOf([resnet(0.5), resnet(20)])).toContain('tenants[0].mpsPercent')
    expect(fieldsOf([resnet(20, 300)])).toEqual(['tenants[0].batchSize'])
    expect(fieldsOf([{ ...resnet(20), model: 'alexnet' }])).toEqual(['tenants[0].model'])
    expect(fieldsOf([resnet(20)], { ...point, memClockMhz: 877 })).toEqual(['memClockMhz'])
    expect(fieldsOf([resnet(20)], { ...point, smClockMhz: 150 })).toEqual(['smClockMhz'])
    expect(fieldsOf(Array.from({ length: 21 }, () => resnet(4)))).toContain('tenants.length')
    const { profile } = truth.parameters
    const narrow = new PerfModel({ ...truth.parameters, profile: { ...profile, mixes: ['like tenants'] } })
    expect(narrow.domain({ ...point, tenants: [resnet(20), resnet(40)] }).outside).toEqual([
      { field: 'tenants', value: 'unlike tenants', covered: 'like tenants' },
    ])
  })
})

describe('beyond the board', () => {
  it('lie tenants that need more memory together than it has', () => {
    const twenty = Array.from({ length: 20 }, (): Tenant => ({ model: 'maxvit_t', mpsPercent: 5, batchSize: 256 }))
    const { inside, outside } = truth.domain({ ...point, tenants: twenty })
    expect(inside).toBe(false)
    const needed = 20 * truth.memoryBytes(twenty[0]!) + truth.reservedMemoryBytes
    expect(needed).toBeGreaterThan(truth.spec.memoryBytes)
    expect(outside).toContainEqual({
      field: 'memoryBytes',
      value: needed,
      covered: `the board has ${truth.spec.memoryBytes}`,
      limit: 'board',
    })
  })

  it('lies power above the highest limit that it takes', () => {
    const board = loadPerfModel('3080Ti')
    const tenants = Array.from({ length: 5 }, (): Tenant => ({ model: 'vgg19', mpsPercent: 20, batchSize: 32 }))
    const [memClockMhz] = board.memClocksMhz
    const at = (smClockMhz: number) => ({ tenants, smClockMhz, memClockMhz: memClockMhz! })
    const top = board.predict(at(1950)).powerW
    expect(top).toBeGreaterThan(board.spec.powerLimitW.max)
    const [found] = board.domain(at(1950)).outside
    expect(found).toEqual({ field: 'powerW', value: top, covered: 'its highest limit is 400', limit: 'board' })
    expect(describeOutside(found!)).toMatch(/^beyond the board: powerW is \d+\.\d+, its highest limit is 400$/)
    expect(board.domain(at(1200))).toMatchObject({ inside: true, outside: [] })
  })
})

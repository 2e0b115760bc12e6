import { PerfModel, parsePerfModelParameters, shippedParameters } from '@pctodl/perf-model'
import { memoryBandwidth, smClocksAt, type Tenant } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CORRECTION_NODES, correctionGrid, HOST_NODES } from '../src/correction-grid.js'
import type { BoardParameters, NetworkParameters } from '../src/parameters.js'

const shipped = parsePerfModelParameters(shippedParameters['A100'])
const anyNetwork = shipped.networks[0]!

/** A network that asks for next to nothing, beside the least traffic too: what a test is about is put in. */
const nothing: NetworkParameters = {
  ...anyNetwork,
  computePerSample: 1e-13,
  computePerBatch: 0,
  serialPerBatch: 0,
  serialPerSample: 0,
  mixedMbPerSample: 0,
  mixedMbPerBatch: 0,
  streamMbPerSample: 1e-9,
  gapMs: 0.01,
  launchMs: 1e-6,
  hostPerSampleMs: 0,
  hostSpeed: [],
  corrections: [],
}

/** A model of the bare equations: networks by name, no corrections. */
function bare(
  board: Partial<BoardParameters>,
  networks: Readonly<Record<string, Partial<NetworkParameters>>>,
): PerfModel {
  return new PerfModel({
    ...shipped,
    boardParameters: { ...shipped.boardParameters, largeBatchHostFactor: 0, ...board },
    networks: Object.entries(networks).map(([name, network]) => ({ ...nothing, ...network, name })),
  })
}

const [memClockMhz] = bare({}, { it: {} }).memClocksMhz as [number]
const { spec } = bare({}, { it: {} })
const clocksMhz = smClocksAt(spec, memClockMhz)!
const topMhz = clocksMhz.at(-1)!

const like = (count: number, model = 'it'): Tenant[] =>
  new Array<Tenant>(count).fill({ model, mpsPercent: 2, batchSize: 8 })

/** Time of a batch of each tenant, ms. */
function latencies(model: PerfModel, tenants: readonly Tenant[], smClockMhz = topMhz): number[] {
  return model.predict({ tenants: [...tenants], smClockMhz, memClockMhz }).tenants.map(({ latencyMs }) => latencyMs)
}

const latency = (model: PerfModel, count: number, smClockMhz = topMhz): number =>
  latencies(model, like(count), smClockMhz)[0]!

describe('a correction', () => {
  const double = (nodes: number) => new Array<number>(nodes).fill(Math.log(2))
  const corrected = (grids: Partial<NetworkParameters['corrections'][number]>) => ({
    corrections: [{ memClockMhz, speed: [], dynamicPower: [], speedSd: [], powerSd: [], ...grids }],
  })
  const power = (network: Partial<NetworkParameters>) =>
    bare({}, { it: network }).predict({ tenants: like(3), smClockMhz: 900, memClockMhz }).powerW

  it('of the host by two is a host that takes half of the time', () => {
    for (const hostClients of [0.25, 4]) {
      for (const work of [{ launchMs: 16 }, { hostPerSampleMs: 2 }, { launchMs: 16, hostPerSampleMs: 2, gapMs: 30 }]) {
        const { launchMs = 1e-6, hostPerSampleMs = 0 } = work
        const half = { ...work, launchMs: launchMs / 2, hostPerSampleMs: hostPerSampleMs / 2 }
        const of = (network: Partial<NetworkParameters>) => latency(bare({ hostClients }, { it: network }), 1)
        expect(of({ ...work, hostSpeed: double(HOST_NODES) }) / of(half)).toBeCloseTo(1, 9)
      }
    }
  })

  it('of the host counts for the work of neighbours, too', () => {
    const of = (hostSpeed: number[]) => latency(bare({ hostClients: 4 }, { it: { hostPerSampleMs: 2, hostSpeed } }), 40)
    expect(of(double(HOST_NODES))).toBeLessThan(0.5 * of([]))
  })

  it('of the device by two is a device that takes half of the time', () => {
    const work = { serialPerBatch: 20, gapMs: 5 }
    const of = (network: Partial<NetworkParameters>) => latency(bare({}, { it: network }), 1, 900)
    const speed = double(CORRECTION_NODES)
    expect(of({ ...work, ...corrected({ speed }) }) / of(work)).toBeCloseTo(0.5, 6)
    for (const traffic of [{ streamMbPerSample: 500 }, { mixedMbPerSample: 500 }]) {
      expect(of({ ...traffic, ...corrected({ speed }) })).toBeLessThan(0.7 * of(traffic))
    }
  })

  it('of the power by two doubles what is drawn beyond the idle board', () => {
    const idleW = shipped.boardParameters.idlePowerW.find((entry) => entry.memClockMhz === memClockMhz)!.powerW
    const work = { serialPerBatch: 20 }
    const twice = power({ ...work, ...corrected({ dynamicPower: double(CORRECTION_NODES) }) })
    expect((twice - idleW) / (power(work) - idleW)).toBeCloseTo(2, 9)
  })

  it('between two numbers of tenants lies between theirs in proportion', () => {
    const idleW = shipped.boardParameters.idlePowerW.find((entry) => entry.memClockMhz === memClockMhz)!.powerW
    const { length } = correctionGrid.tenants
    // Twice as much from four tenants on.
    const grid = (nodes: number) => Array.from({ length: nodes }, (_, i) => (i % length >= 2 ? Math.log(2) : 0))
    const dynamicPower = grid(CORRECTION_NODES)
    const factor = (count: number) => {
      const drawn = (network: Partial<NetworkParameters>) =>
        bare({}, { it: network }).predict({ tenants: like(count), smClockMhz: 900, memClockMhz }).powerW - idleW
      return drawn({ serialPerBatch: 20, ...corrected({ dynamicPower }) }) / drawn({ serialPerBatch: 20 })
    }
    const factors = [1, 1, 1.5, 2, 2, 2].map((value) => expect.closeTo(value, 6))
    expect([1, 2, 3, 4, 6, 30].map(factor)).toEqual(factors)
    const launches = bare({ launchClients: 1e6 }, { it: { gapMs: 0, launchMs: 16, hostSpeed: grid(HOST_NODES) } })
    expect([1, 2, 3, 4, 6, 30].map((count) => 16 / latency(launches, count))).toEqual(factors)
  })
})

describe('the capacity of the host', () => {
  const BATCH_MS = 8 * 2

  it.each([2, 4.5, 9])('is what tenants share that ask for more of it: %d at a time', (hostClients) => {
    const model = bare({ hostClients }, { it: { hostPerSampleMs: 2 } })
    for (const count of [20, 48]) {
      const atOnce = (count * BATCH_MS) / latency(model, count)
      expect(Math.abs(atOnce / hostClients - 1)).toBeLessThan(0.01)
    }
  })

  it('makes nobody the slower for a low clock where it is what all wait for', () => {
    const model = bare({ hostClients: 4 }, { it: { hostPerSampleMs: 2, serialPerBatch: 2 } })
    expect(latency(model, 40, clocksMhz[0]) / latency(model, 40)).toBeCloseTo(1, 3)
  })

  it('holds nobody up who is alone or among few', () => {
    const model = bare({ hostClients: 8 }, { it: { hostPerSampleMs: 2 } })
    expect(latency(model, 1) / BATCH_MS).toBeCloseTo(1, 2)
    expect(latency(model, 4) / BATCH_MS).toBeCloseTo(1, 2)
  })

  it('is taken by neighbours in parts of what each takes alone', () => {
    // The second network spends half of its time on the host, the third none of it.
    const model = bare(
      { hostClients: 4 },
      { it: { hostPerSampleMs: 2 }, half: { hostPerSampleMs: 1, gapMs: 8 }, none: { gapMs: 16 } },
    )
    const beside = (count: number, neighbour: string) =>
      latencies(model, [...like(1), ...like(count, neighbour)])[0]! / BATCH_MS
    expect(beside(20, 'none') / beside(0, 'none')).toBeCloseTo(1, 6)
    // The tenant's own batch demands a quarter.
    expect(beside(40, 'it') - 1 / 4).toBeCloseTo(40 / 4, 1)
    expect(beside(40, 'half') - 1 / 4).toBeCloseTo(20 / 4, 1)
  })
})

describe('launches of kernels', () => {
  it.each([2, 4.5, 9])('go on side by side at full speed, %d at a time', (launchClients) => {
    const model = bare({ launchClients }, { it: { launchMs: 16 } })
    for (const count of [20, 48]) {
      const atOnce = (count * 16) / latency(model, count)
      expect(Math.abs(atOnce / launchClients - 1)).toBeLessThan(0.02)
    }
  })

  it('hold nobody up who is alone', () => {
    expect(latency(bare({ launchClients: 8 }, { it: { launchMs: 16 } }), 1)).toBeCloseTo(16, 2)
  })

  it('are held up less by neighbours that a low clock slows down', () => {
    const model = bare({ launchClients: 1 }, { it: { launchMs: 16 }, clocked: { launchMs: 16, serialPerBatch: 16 } })
    const tenants = [...like(1), ...like(20, 'clocked')]
    // Their own pace is what a tenant is taken to slow down by: one whose time no clock changes is not helped by it.
    const at = (mhz: number) => latencies(model, tenants, mhz)
    expect(at(210)[0]! / at(topMhz)[0]!).toBeCloseTo(1, 6)
    expect(at(210)[1]!).toBeGreaterThan(at(topMhz)[1]!)
    const alone = (mhz: number) => latencies(model, like(1, 'clocked'), mhz)[0]!
    expect(at(210)[1]! / alone(210)).toBeLessThan(at(topMhz)[1]! / alone(topMhz))
  })
})

describe('the DRAM slowdown', () => {
  const GAP_MS = 0.5
  const traffic = fc.record({
    count: fc.integer({ min: 1, max: 40 }),
    megabytes: fc.double({ min: 10, max: 5000, noNaN: true }),
    bandwidthCeiling: fc.double({ min: 0.5, max: 1, noNaN: true }),
    cacheReachMb: fc.double({ min: 1, max: 2000, noNaN: true }),
    smClockMhz: fc.constantFrom(...clocksMhz),
  })

  it('is where what like tenants draw at that slowdown meets what there is, at every clock', () => {
    fc.assert(
      fc.property(traffic, ({ count, megabytes, bandwidthCeiling, cacheReachMb, smClockMhz }) => {
        // So many bytes per cycle that no tenant's own SMs limit it.
        const model = bare(
          { bandwidthCeiling, cacheReachMb, bytesPerCyclePerSm: 1e9 },
          { it: { gapMs: GAP_MS, streamMbPerSample: megabytes / 8 } },
        )
        const latencyMs = latency(model, count, smClockMhz)
        const missed = megabytes * ((count * megabytes) / (count * megabytes + cacheReachMb))
        const perMs = memoryBandwidth(spec, memClockMhz) / 1e9
        const slowdown = (latencyMs - GAP_MS) / (missed / perMs)
        const drawn = (count * missed) / latencyMs / perMs
        expect(slowdown * (1 - (drawn / bandwidthCeiling) ** 2)).toBeCloseTo(1, 3)
      }),
      // So little traffic at so low a clock that arithmetic is negligible.
      {
        numRuns: 200,
        examples: [[{ count: 1, megabytes: 10, bandwidthCeiling: 1, cacheReachMb: 2000, smClockMhz: clocksMhz[0]! }]],
      },
    )
  })

  it('is one slowdown for unlike tenants', () => {
    const megabytes = fc.double({ min: 50, max: 5000, noNaN: true })
    const count = fc.integer({ min: 1, max: 20 })
    const cycles = fc.double({ min: 1, max: 1e4, noNaN: true })
    fc.assert(
      fc.property(count, count, megabytes, megabytes, cycles, (one, other, first, second, serialPerBatch) => {
        const model = bare(
          { bandwidthCeiling: 0.9, cacheReachMb: 300, bytesPerCyclePerSm: 1e9 },
          { it: { streamMbPerSample: first / 8 }, that: { streamMbPerSample: second / 8, serialPerBatch } },
        )
        const [mine, theirs] = latencies(model, [...like(1), ...like(other, 'that'), ...like(one)]) as [number, number]
        const all = (one + 1) * first + other * second
        const perMb = ((all / (all + 300)) * 1e9) / memoryBandwidth(spec, memClockMhz)
        const slowdown = (mine - nothing.gapMs) / (first * perMb)
        expect((theirs - nothing.gapMs - (1e3 * serialPerBatch) / topMhz) / (second * perMb) / slowdown).toBeCloseTo(
          1,
          3,
        )
        const drawn = perMb * (((one + 1) * first) / mine + (other * second) / theirs)
        expect(slowdown * (1 - (drawn / 0.9) ** 2)).toBeCloseTo(1, 3)
      }),
      { numRuns: 200 },
    )
  })

  it('falls for tenants that their own clock slows down, as the draw of like ones does', () => {
    fc.assert(
      fc.property(traffic, ({ count, megabytes, bandwidthCeiling, smClockMhz }) => {
        const perMs = memoryBandwidth(spec, memClockMhz) / 1e9
        const CYCLES = 1e4
        const model = bare(
          { bandwidthCeiling, cacheReachMb: 1e-6, bytesPerCyclePerSm: 1e9 },
          { it: { gapMs: 0, serialPerBatch: CYCLES / 1e3, streamMbPerSample: megabytes / 8 } },
        )
        const latencyMs = latency(model, count, smClockMhz)
        const slowdown = (latencyMs - CYCLES / smClockMhz) / (megabytes / perMs)
        const drawn = (count * megabytes) / latencyMs / perMs
        expect(slowdown * (1 - (drawn / bandwidthCeiling) ** 2)).toBeCloseTo(1, 3)
      }),
      { numRuns: 200 },
    )
  })

  it('hides behind arithmetic where a network does both at once, as the longer of the two', () => {
    const alone = (network: Partial<NetworkParameters>) =>
      latency(bare({ bytesPerCyclePerSm: 1e9, bandwidthCeiling: 1 }, { it: { gapMs: 0, ...network } }), 1)
    const compute = { serialPerBatch: 20 }
    const memory = { mixedMbPerSample: 500 }
    const [one, other, both] = [alone(compute), alone(memory), alone({ ...compute, ...memory })]
    expect(both).toBeGreaterThanOrEqual(Math.max(one, other) * (1 - 1e-9))
    expect(both).toBeLessThanOrEqual(Math.hypot(one, other))
  })
})

import { findGpuSpec, findMigProfile, migBoard, migProfiles, type Tenant, VirtualClock } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SimulatedGpu, SimulatedTenants, simulatedBoards, simulateSteadyState } from '../src/index.js'

const withMig = simulatedBoards.filter((board) => migProfiles(findGpuSpec(board)).length > 0)
const tenant: Tenant = { model: 'resnet50', mpsPercent: 100, batchSize: 16 }

describe('MIG profiles', () => {
  it('exist on the boards that have MIG', () => {
    expect(withMig).toEqual(['A100', 'A100-80GB', 'H100', 'H200'])
    expect(migProfiles(findGpuSpec('A100')).map((profile) => [profile.name, profile.smCount])).toEqual([
      ['1g.5gb', 14],
      ['1g.10gb', 14],
      ['2g.10gb', 28],
      ['3g.20gb', 42],
      ['4g.20gb', 56],
      ['7g.40gb', 98],
    ])
    expect(() => findMigProfile(findGpuSpec('A100'), '5g.40gb')).toThrow(/unknown MIG profile.*known: 1g.5gb/)
  })

  it.each(withMig)('never hand out more of %s than there is, in whatever order they are created', (board) => {
    const profiles = migProfiles(findGpuSpec(board))
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...profiles), { maxLength: 12 }), (wanted) => {
        const gpu = new SimulatedGpu(board, { clock: new VirtualClock() })
        const made = wanted.flatMap(({ name }) => {
          try {
            return [gpu.createMigInstance(name)]
          } catch (error) {
            expect(error).toMatchObject({ code: 'NO_ROOM' })
            return []
          }
        })
        const slices = made.flatMap(({ start, profile }) =>
          Array.from({ length: profile.memorySlices }, (_, i) => start + i),
        )
        expect(new Set(slices).size).toBe(slices.length)
        expect(Math.max(0, ...slices)).toBeLessThan(8)
        const sms = made.reduce((sum, { profile }) => sum + profile.smCount, 0)
        expect(sms).toBeLessThanOrEqual(gpu.spec.smCount)
        const compute = made.reduce((sum, { profile }) => sum + Number(profile.name[0]), 0)
        expect(compute).toBeLessThanOrEqual(7)
      }),
      { numRuns: 60 },
    )
  })
})

describe('MIG instances', () => {
  const board = () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100', { clock })
    return { clock, gpu }
  }

  it('are isolated: what runs on one does not slow another', async () => {
    const { clock, gpu } = board()
    const [a, b] = [gpu.createMigInstance('3g.20gb'), gpu.createMigInstance('3g.20gb')]
    await new SimulatedTenants(gpu, { instance: a }).apply([tenant])
    await clock.sleep(1000)
    const alone = gpu.truth().throughput
    const expected = simulateSteadyState(a.spec)({ tenants: [tenant], smClockMhz: 1410, memClockMhz: 1215 })
    expect(alone).toBeCloseTo(expected.throughput, 6)
    await new SimulatedTenants(gpu, { instance: b }).apply([tenant])
    await clock.sleep(1000)
    expect(gpu.truth().throughput).toBeCloseTo(2 * alone, 6)
    const { smUtilPercent, memUtilPercent } = await gpu.sample()
    expect(smUtilPercent).toBeLessThanOrEqual(100)
    expect(memUtilPercent).toBeLessThanOrEqual(100)
  })

  it('share one power limit and one clock', async () => {
    // By the truth: the sensor of this unit reads some percent less.
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100', { clock, firmwareReads: 'truth' })
    const big = { model: 'vgg19', mpsPercent: 100, batchSize: 64 }
    for (const profile of ['4g.20gb', '3g.20gb']) {
      await new SimulatedTenants(gpu, { instance: gpu.createMigInstance(profile) }).apply([big])
    }
    await clock.sleep(20_000)
    expect(gpu.truth().smClockMhz).toBeLessThan(1410)
    const start = gpu.truth()
    await clock.sleep(10_000)
    expect((gpu.truth().energyJ - start.energyJ) / 10).toBeLessThan(250)
  })

  it('run MPS clients inside, whose shares are of the instance', async () => {
    const { clock, gpu } = board()
    const instance = gpu.createMigInstance('2g.10gb')
    const halves = [0, 1].map(() => ({ ...tenant, mpsPercent: 50 }))
    await new SimulatedTenants(gpu, { instance }).apply(halves)
    await clock.sleep(1000)
    const expected = simulateSteadyState(instance.spec)({ tenants: halves, smClockMhz: 1410, memClockMhz: 1215 })
    expect(gpu.truth().throughput).toBeCloseTo(expected.throughput, 6)
  })

  it('have their own memory', async () => {
    const { clock, gpu } = board()
    const pool = new SimulatedTenants(gpu, { instance: gpu.createMigInstance('1g.5gb') })
    const half = { model: 'maxvit_t', mpsPercent: 50, batchSize: 192 }
    await pool.apply([half, half])
    await clock.sleep(1000)
    const [first, second] = pool.counters()
    expect(first!.state).toBe('running')
    expect(second).toMatchObject({ state: 'failed', failure: expect.stringContaining('out of memory') })
  })

  it('say what is in their way', async () => {
    const { gpu } = board()
    expect(() => new SimulatedGpu('3080Ti', { clock: new VirtualClock() }).createMigInstance('1g.5gb')).toThrow(
      expect.objectContaining({ code: 'NOT_SUPPORTED' }),
    )
    const instance = gpu.createMigInstance('7g.40gb')
    expect(() => gpu.createMigInstance('1g.5gb')).toThrow(/no placement for 1g.5gb .* beside 7g.40gb at 0/)
    expect(() => gpu.launch(tenant)).toThrow(expect.objectContaining({ code: 'NOT_SUPPORTED' }))
    const process = gpu.launch(tenant, { instance })
    expect(() => gpu.destroyMigInstance(instance)).toThrow(expect.objectContaining({ code: 'IN_USE' }))
    gpu.terminate(process)
    gpu.destroyMigInstance(instance)
    expect(() => gpu.launch(tenant, { instance })).toThrow(expect.objectContaining({ code: 'NO_SUCH_INSTANCE' }))
    gpu.launch(tenant)
    expect(() => gpu.createMigInstance('1g.5gb')).toThrow(expect.objectContaining({ code: 'IN_USE' }))
  })

  it.each(withMig)('of %s are slower than the board, and faster the larger they are', (key) => {
    const spec = findGpuSpec(key)
    const memClockMhz = spec.performanceMemClocksMhz[0]!
    const throughput = (board: typeof spec) =>
      simulateSteadyState(board, { powerLimitW: 1e9 })({
        tenants: [{ model: 'vgg19', mpsPercent: 100, batchSize: 64 }],
        smClockMhz: spec.boostClockMhz,
        memClockMhz,
      }).throughput
    const rising = [...migProfiles(spec).map((profile) => throughput(migBoard(spec, profile))), throughput(spec)]
    rising.forEach((value, i) => {
      if (i > 0) expect(value).toBeGreaterThanOrEqual(rising[i - 1]! * (1 - 1e-9))
    })
  })
})

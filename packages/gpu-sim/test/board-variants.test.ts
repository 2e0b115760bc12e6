import { SeededRandom } from '@pctodl/numerics'
import { findGpuSpec, memoryBandwidth, networkNames, smClocksAt, type Tenant, VirtualClock } from '@pctodl/platform'
import { golden } from '@pctodl/reference-data'
import { describe, expect, it } from 'vitest'
import {
  boardVariants,
  findBoardVariant,
  physicsOfBoard,
  SimulatedGpu,
  SimulatedTenants,
  simulateSteadyState,
} from '../src/index.js'

const TOLERANCE = 1 + 1e-5

describe('variants of a board', () => {
  it('are the same for the same seed and index, and others for others', () => {
    const [first, second] = boardVariants('A100', { count: 2 })
    expect(boardVariants('A100', { count: 5 })[1]).toEqual(second)
    expect(findBoardVariant('A100~v2')).toEqual(second)
    expect(first!.physics).not.toEqual(second!.physics)
    expect(boardVariants('A100', { count: 1, seed: 7 })[0]!.physics).not.toEqual(first!.physics)
    expect(findBoardVariant('A100~s7v1')).toEqual(boardVariants('A100', { count: 1, seed: 7 })[0])
  })

  it('say how they differ, and do in every respect that is said to vary', () => {
    const variants = boardVariants('3080Ti', { count: 40 })
    expect(new Set(variants.map(({ name }) => name)).size).toBe(40)
    const kinds = (of: (variant: (typeof variants)[number]) => unknown) => new Set(variants.map(of)).size
    expect(kinds(({ physics }) => physics.work.contention)).toBe(3)
    expect(kinds(({ physics }) => physics.work.saturation)).toBe(3)
    expect(kinds(({ physics }) => physics.power.voltageCurve)).toBe(3)
    expect(kinds(({ physics }) => physics.firmware.law)).toBe(2)
    expect(kinds(({ physics }) => physics.firmware.plateauW === null)).toBe(2)
    expect(kinds(({ host }) => host.overlap)).toBeGreaterThan(2)
    expect(kinds(({ physics }) => physics.sensor.averageWindowMs)).toBe(2)
    for (const { differs, physics } of variants) expect(differs).toContain(`contention ${physics.work.contention}`)
  })

  it('refuse what is no variant', () => {
    expect(() => findBoardVariant('A100~3')).toThrow('A100~v3')
    expect(() => boardVariants('A100', { count: 0 })).toThrow('count')
    expect(() => boardVariants('L400')).toThrow('L400')
    expect(findBoardVariant('A100')).toBeNull()
  })

  it('are boards wherever a board is', async () => {
    const [variant] = boardVariants('A100', { count: 1 })
    const tenants: Tenant[] = [{ model: 'resnet50', mpsPercent: 100, batchSize: 32 }]
    const configuration = { tenants, smClockMhz: 1200, memClockMhz: 1215 }
    const byName = simulateSteadyState('A100~v1')(configuration)
    expect(simulateSteadyState(variant!)(configuration)).toEqual(byName)
    expect(byName.throughput).not.toBe(simulateSteadyState('A100')(configuration).throughput)
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100~v1', { clock })
    expect([gpu.name, gpu.spec.key]).toEqual(['A100~v1', 'A100'])
    const pool = new SimulatedTenants(gpu)
    await pool.apply(tenants)
    await clock.sleep(20_000)
    expect(gpu.truth().throughput).toBeGreaterThan(0)
    await pool.stop()
  })
})

describe.each(['3080Ti', 'A100', 'V100', 'H100'])('the physics of 50 variants of %s', (board) => {
  const spec = findGpuSpec(board)
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  const clocks = smClocksAt(spec, memClockMhz)!.filter((clock) => clock <= spec.boostClockMhz)
  const random = new SeededRandom(5)
  const draw = <T>(values: readonly T[]): T => values[random.integer(values.length)]!

  it.each(boardVariants(board, { count: 50 }))('$name: $differs', (variant) => {
    const simulate = simulateSteadyState(variant, { powerLimitW: 1e9 })
    for (let i = 0; i < 8; i++) {
      const count = 1 + random.integer(5)
      const tenant = {
        model: draw(networkNames),
        mpsPercent: Math.floor(100 / count),
        batchSize: draw([1, 8, 32, 128]),
      }
      const tenants = Array.from({ length: count }, () => tenant)
      const at = random.integer(clocks.length - 7)
      const low = simulate({ tenants, smClockMhz: clocks[at]!, memClockMhz })
      const high = simulate({ tenants, smClockMhz: clocks[at + 7]!, memClockMhz })
      expect(high.throughput * TOLERANCE).toBeGreaterThanOrEqual(low.throughput)
      expect(high.powerW).toBeGreaterThan(low.powerW)
      expect(low.powerW).toBeGreaterThan(simulate({ tenants: [], smClockMhz: clocks[at]!, memClockMhz }).powerW)
      const fewer = simulate({ tenants: tenants.slice(1), smClockMhz: clocks[at]!, memClockMhz })
      if (count > 1) expect(fewer.tenants[0]!.throughput * TOLERANCE).toBeGreaterThanOrEqual(low.tenants[0]!.throughput)
      const wider = tenants.map((each) => ({ ...each, mpsPercent: Math.min(100, each.mpsPercent + 20) }))
      if (count === 1) {
        const more = simulate({ tenants: wider, smClockMhz: clocks[at]!, memClockMhz })
        expect(more.throughput * 1.02).toBeGreaterThanOrEqual(low.throughput)
      }
      expect(low.dramBytesPerS).toBeLessThanOrEqual(memoryBandwidth(spec, memClockMhz))
      expect(low.busySms).toBeLessThanOrEqual(spec.smCount)
      for (const percent of [low.smUtilPercent, low.memUtilPercent]) {
        expect(percent).toBeGreaterThanOrEqual(0)
        expect(percent).toBeLessThanOrEqual(100)
      }
    }
  })

  it('keep their limits, and are not slower under higher ones', () => {
    const limits = [0.6, 0.8, 1].map((share) => Math.max(spec.powerLimitW.min, share * spec.powerLimitW.default))
    for (const variant of boardVariants(board, { count: 50 })) {
      const tenants = Array.from({ length: 4 }, () => ({ model: 'vgg19', mpsPercent: 25, batchSize: 32 }))
      const states = limits.map((powerLimitW) =>
        simulateSteadyState(variant, { powerLimitW })({ tenants, smClockMhz: spec.boostClockMhz, memClockMhz }),
      )
      states.forEach(({ powerW, throughput }, i) => {
        expect(powerW).toBeLessThanOrEqual(limits[i]!)
        expect(throughput * TOLERANCE).toBeGreaterThanOrEqual(states[i - 1]?.throughput ?? 0)
      })
    }
  })
})

describe.each([
  ['3080Ti', '3080ti'],
  ['A100', 'a100'],
])('the variants of %s', (board, key) => {
  // What is known of the measured rows in this repository: one network at one memory clock of each board.
  const [header, ...lines] = golden('pctodl-params/surrogate_anchor.csv').trim().split('\n')
  const columns = header!.split(',')
  const rows = lines
    .map((line) => Object.fromEntries(line.split(',').map((cell, i) => [columns[i]!, cell])))
    .filter((row) => row['board'] === key && row['doubtful'] === '0')
    .filter((_, i) => i % 4 === 0)

  /** Median errors of throughput and power, percent. */
  function errors(simulate: ReturnType<typeof simulateSteadyState>): [number, number] {
    const states = rows.map((row) => {
      const tenant = { model: row['model']!, mpsPercent: Number(row['share']), batchSize: Number(row['batch']) }
      const tenants = Array.from({ length: Number(row['n']) }, () => tenant)
      return simulate({ tenants, smClockMhz: Number(row['anchor_mhz']), memClockMhz: Number(row['mem_mhz']) })
    })
    const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!
    return [
      median(states.map(({ throughput }, i) => 100 * Math.abs(throughput / Number(rows[i]!['throughput']) - 1))),
      median(states.map(({ powerW }, i) => 100 * Math.abs(powerW / Number(rows[i]!['power']) - 1))),
    ]
  }

  it('fit the measurements nearly as the board itself does, and differ', () => {
    expect(rows.length).toBeGreaterThan(30)
    const own = errors(simulateSteadyState(board))
    const { firmware } = physicsOfBoard(board)
    const all = boardVariants(board, { count: 20 }).map((variant) => {
      return errors(simulateSteadyState({ ...variant, physics: { ...variant.physics, firmware } }))
    })
    for (const quantity of [0, 1] as const) {
      const sorted = all.map((each) => each[quantity]).sort((a, b) => a - b)
      expect(sorted[sorted.length >> 1]).toBeLessThan(own[quantity] + 3)
      expect(sorted.at(-1)).toBeLessThan(own[quantity] + 8)
      expect(new Set(sorted).size).toBe(20)
    }
  })
})

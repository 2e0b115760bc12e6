import { type FaultScenario, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type GpuSpec, type PctodlError, type Tenant, VirtualClock } from '@pctodl/platform'
import { makePlan, type ProfileRow, runPlan, sweepRows } from '@pctodl/profiler'
import { describe, expect, it } from 'vitest'
import { tenantsOfGrid } from '../src/plan/anchor-grid.js'
import type { MeasureOptions, PlannedRow } from '../src/plan/profile-plan.js'

const quarter: Tenant = { model: 'resnet50', mpsPercent: 25, batchSize: 16 }

function board(name: string, faults: FaultScenario['faults'] = []) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(name, { clock, faults: { faults } })
  return { gpu, tenants: new SimulatedTenants(gpu), clock, livesInProcess: true }
}

/** A row of one configuration at the board's first memory clock. */
const single = (spec: GpuSpec, tenants: readonly Tenant[], smClockMhz: number | null = null): PlannedRow => ({
  sweep: 'single',
  tenants,
  smClockMhz,
  memClockMhz: spec.performanceMemClocksMhz[0]!,
  repeat: 0,
})

async function profile(
  name: string,
  rowsOf: (spec: GpuSpec) => readonly PlannedRow[],
  { measure = {}, faults = [] }: { measure?: Partial<MeasureOptions>; faults?: FaultScenario['faults'] } = {},
) {
  const profiled = board(name, faults)
  const { spec } = profiled.gpu
  const plan = makePlan(spec, rowsOf(spec), { seed: 1, measure })
  const rows: ProfileRow[] = []
  await runPlan(profiled, plan, { onRow: (row) => rows.push(row) })
  return { rows, plan, ...profiled }
}

describe('runPlan', () => {
  it('measures what the board does', async () => {
    const { rows, gpu, tenants } = await profile('A100', (spec) => [single(spec, [quarter, quarter], 1005)])
    const [row] = rows
    expect(row).toMatchObject({
      status: 'ok',
      failed: false,
      targetSmClockMhz: 1005,
      smClockMhz: 1005,
      memClockMhz: 1215,
    })
    expect(row!.throughput).toBeCloseTo(row!.tenantThroughput[0]! + row!.tenantThroughput[1]!, 9)
    // Samples/s = batch / latency.
    expect(row!.tenantThroughput[0]).toBeCloseTo(16_000 / row!.tenantLatencyMs[0]!, 6)
    expect(row!.powerErrorPercent).toBeLessThan(0.5)
    expect(row!.energyJ! / (row!.windowMs / 1000)).toBeCloseTo(row!.powerAverageW, -1)
    expect(tenants.counters()).toEqual([])
    await (await gpu.acquire()).release()
  })

  it('gives a configuration that does not fit a status, and goes on', async () => {
    const large: Tenant = { model: 'vgg19', mpsPercent: 25, batchSize: 256 }
    const { rows } = await profile('T4', (spec) =>
      [
        [large, large, large, large],
        ...tenantsOfGrid('vgg19', [{ mpsPercent: 5, tenantCounts: [1, 20], batchSizes: [8, 64] }]),
      ].map((tenants) => single(spec, tenants)),
    )
    const failed = rows.filter((row) => row.failed)
    expect(failed.length).toBeGreaterThan(0)
    expect(failed.length).toBeLessThan(rows.length)
    for (const row of failed) {
      expect(row.status).toBe('out-of-memory')
      expect(row.message).toMatch(/tenant \d+ \(vgg19, \d+ %, batch \d+\): out of memory: .* needs [\d.]+ GiB/)
      expect(row.throughput).toBeNaN()
      expect(row.powerAverageW).toBeNaN()
    }
  })

  it('marks a tenant that dies while it is measured', async () => {
    const faults = [{ kind: 'client-killed', atMs: 6000, tenant: 1 }] as const
    const { rows } = await profile('A100', (spec) => [single(spec, [quarter, quarter])], { faults })
    expect(rows[0]).toMatchObject({ status: 'crashed', failed: true })
    expect(rows[0]!.message).toContain('tenant 1 (resnet50, 25 %, batch 16)')
  })

  it.each([
    ['while it settles', { atMs: 4000 }],
    ['in the midst of its window', { atMs: 9000, durationMs: 2500 }],
  ])('marks a tenant that hangs %s, whatever the board draws', async (_, when) => {
    const { rows } = await profile('A100', (spec) => [single(spec, [quarter, quarter])], {
      measure: { settleMaxMs: 8000, windowMinMs: 8000, windowMaxMs: 8000 },
      faults: [{ kind: 'client-hung', tenant: 1, ...when }],
    })
    expect(rows[0]).toMatchObject({ status: 'stalled', failed: true })
    expect(rows[0]!.message).toMatch(/^tenant 1 \(resnet50, 25 %, batch 16\): it completed nothing/)
    expect(rows[0]!.throughput).toBeNaN()
  })

  it('knows no rate where counters fall, and never a negative one', async () => {
    const profiled = board('A100')
    const { tenants, clock } = profiled
    // As if a worker had wrapped its counters: after 9 s they begin again.
    const falling = {
      apply: tenants.apply.bind(tenants),
      stop: tenants.stop.bind(tenants),
      counters: () =>
        tenants
          .counters()
          .map((c) => (clock.now() < 9000 ? c : { ...c, samples: c.samples / 4, batches: c.batches / 4 })),
    }
    const { spec } = profiled.gpu
    const measure = { settleMaxMs: 8000, windowMinMs: 6000 }
    const plan = makePlan(spec, [single(spec, [quarter])], { seed: 1, measure })
    const rows: ProfileRow[] = []
    await runPlan({ ...profiled, tenants: falling }, plan, { onRow: (row) => rows.push(row) })
    expect(rows[0]).toMatchObject({ status: 'unknown', failed: true, throughput: Number.NaN })
  })

  it('counts the time that reading the sensors takes', async () => {
    const profiled = board('A100')
    const { gpu, clock } = profiled
    // A real H100 takes 3 to 17 ms.
    const slow = new Proxy(gpu, {
      get: (target, name) => {
        if (name === 'sample') return () => clock.sleep(10).then(() => target.sample())
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const plan = makePlan(gpu.spec, [single(gpu.spec, [quarter], 1005)], { seed: 1 })
    const rows: ProfileRow[] = []
    await runPlan({ ...profiled, gpu: slow }, plan, { onRow: (row) => rows.push(row) })
    const { energyJ, windowMs, powerAverageW } = rows[0]!
    expect(energyJ! / (windowMs / 1000) / powerAverageW).toBeCloseTo(1, 1.5)
  })

  it('settles after processes have prepared for another batch size', async () => {
    const profiled = board('A100')
    const { tenants, clock } = profiled
    let appliedMs = 0
    let frozen: ReturnType<typeof tenants.counters> = []
    // As a worker that captures CUDA graphs for five seconds.
    const preparing = new Proxy(tenants, {
      get: (target, name) => {
        if (name === 'apply')
          return async (...words: Parameters<typeof tenants.apply>) => {
            await target.apply(...words)
            appliedMs = clock.now()
            frozen = target.counters()
          }
        if (name === 'counters') return () => (clock.now() < appliedMs + 5000 ? frozen : target.counters())
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const { spec } = profiled.gpu
    const plan = makePlan(spec, [single(spec, [quarter], 1005)], {
      seed: 1,
      measure: { settleWindowMs: 1500, settleMinMs: 1500, settleMaxMs: 4000, windowMinMs: 3000, windowMaxMs: 3000 },
    })
    const rows: ProfileRow[] = []
    const real = { ...profiled, tenants: preparing, livesInProcess: false }
    await runPlan(real, plan, { onRow: (row) => rows.push(row) })
    expect(rows[0]).toMatchObject({ status: 'ok', failed: false })
  })

  it('measures a worker that ignores the batch size instead of waiting for that size forever', async () => {
    const profiled = board('A100')
    const { tenants, clock } = profiled
    const stubborn = {
      apply: tenants.apply.bind(tenants),
      stop: tenants.stop.bind(tenants),
      counters: () => {
        if (clock.now() > 600_000) throw new Error('it waits for ten minutes')
        return tenants.counters().map((c) => ({ ...c, lastBatchSize: c.batches > 0 ? 8 : 0 }))
      },
    }
    const { spec } = profiled.gpu
    const plan = makePlan(spec, [single(spec, [quarter], 1005)], { seed: 1 })
    const rows: ProfileRow[] = []
    const real = { ...profiled, tenants: stubborn, livesInProcess: false }
    await runPlan(real, plan, { onRow: (row) => rows.push(row) })
    expect(rows[0]).toMatchObject({ status: 'ok', failed: false })
  })

  it('says that power could not be read instead of writing zero', async () => {
    const faults = [{ kind: 'telemetry-failing', atMs: 0 }] as const
    const { rows } = await profile('A100', (spec) => [single(spec, [quarter])], { faults })
    expect(rows[0]).toMatchObject({ status: 'no-telemetry', failed: true })
    expect(rows[0]!.powerAverageW).toBeNaN()
  })

  it('measures a load that never settles after the limit, and marks it', async () => {
    const { rows } = await profile('A100', (spec) => [single(spec, [quarter])], {
      measure: { settleTolerancePercent: 1e-6, settleMaxMs: 8000, windowMaxMs: 6000, standardErrorPercent: 1e-6 },
    })
    expect(rows[0]).toMatchObject({ status: 'unsettled', failed: false, settleMs: 8000, windowMs: 6000 })
  })

  it('marks rows that heat slowed down, and cools down before the next', async () => {
    const faults = [{ kind: 'thermal-slowdown', atMs: 5000, durationMs: 40_000 }] as const
    const batches = (spec: GpuSpec) => [8, 16, 24].map((batchSize) => single(spec, [{ ...quarter, batchSize }]))
    const { rows } = await profile('A100', batches, { faults })
    expect(rows[0]!.status).toBe('thermal')
    expect(rows[0]!.clocksEventReasons).toContain('sw-thermal-slowdown')
    expect(rows[1]!.coolDownMs).toBeGreaterThan(0)
    expect(rows[2]).toMatchObject({ status: 'ok', coolDownMs: 0 })
  })

  it('measures the board without work', async () => {
    const { rows } = await profile('A100', (spec) => [210, 810, 1410].map((clock) => single(spec, [], clock)))
    const powers = [...rows].sort((a, b) => a.targetSmClockMhz! - b.targetSmClockMhz!).map((row) => row.powerAverageW)
    expect(powers).toHaveLength(3)
    expect(powers[0]!).toBeLessThan(powers[1]!)
    expect(powers[1]!).toBeLessThan(powers[2]!)
  })

  it('puts everything back when it is interrupted', async () => {
    const profiled = board('A100')
    const { spec } = profiled.gpu
    const clocks = { sweep: 'clocks', configurations: [[quarter]], smClocks: {}, memClockMhz: 1215 } as const
    const plan = makePlan(spec, sweepRows(spec, clocks), { seed: 1 })
    const interrupted = new AbortController()
    const rows: ProfileRow[] = []
    const onRow = (row: ProfileRow) => {
      rows.push(row)
      if (rows.length === 3) interrupted.abort(new Error('enough'))
    }
    await expect(runPlan(profiled, plan, { signal: interrupted.signal, onRow })).rejects.toThrow('enough')
    expect(rows).toHaveLength(3)
    expect(profiled.tenants.counters()).toEqual([])
    await (await profiled.gpu.acquire()).release()
  })

  it('keeps other programs from changing the board, though no row requests a clock', async () => {
    const profiled = board('A100')
    const { spec } = profiled.gpu
    const plan = makePlan(spec, [{ ...single(spec, [quarter]), memClockMhz: null }], { seed: 1 })
    const others: Promise<unknown>[] = []
    const onBegin = () => others.push(profiled.gpu.acquire().catch(({ code }) => code))
    const onRefused = ({ message }: Error) => expect.fail(message)
    await runPlan(profiled, plan, { onBegin, onRefused, onRow: ({ status }) => expect(status).toBe('ok') })
    expect(await Promise.all(others)).toEqual(['LEASE_HELD'])
    await (await profiled.gpu.acquire()).release()
  })

  it('needs a lease only if a row requests a clock, and says that it has none', async () => {
    const profiled = board('A100')
    const { spec } = profiled.gpu
    const lease = await profiled.gpu.acquire()
    const row = { ...single(spec, [quarter]), memClockMhz: null }
    const rows: ProfileRow[] = []
    const refused: string[] = []
    const onRefused = ({ code }: PctodlError) => refused.push(code)
    await runPlan(profiled, makePlan(spec, [row], { seed: 1 }), { onRefused, onRow: (each) => rows.push(each) })
    expect(refused).toEqual(['LEASE_HELD'])
    expect(rows[0]).toMatchObject({ status: 'ok', targetSmClockMhz: null, memClockMhz: 1215 })
    const locking = makePlan(spec, [row, { ...row, smClockMhz: 1005 }], { seed: 1 })
    await expect(runPlan(profiled, locking, { onRow: () => {} })).rejects.toMatchObject({ code: 'LEASE_HELD' })
    const left = [locking.rows.findIndex(({ smClockMhz }) => smClockMhz === null)]
    await runPlan(profiled, locking, { left, onRow: (each) => rows.push(each) })
    expect(rows).toHaveLength(2)
    await lease.release()
  })
})

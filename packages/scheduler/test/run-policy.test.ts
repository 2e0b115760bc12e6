import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { capSchedule, fixedCap, InvalidInputError, type Tenant, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import {
  type Action,
  type PowerCapPolicy,
  type RunOptions,
  runPolicy,
  type SampleObservation,
  type WindowObservation,
} from '../src/index.js'

const two: Tenant[] = [
  { model: 'resnet50', mpsPercent: 50, batchSize: 32 },
  { model: 'resnet50', mpsPercent: 50, batchSize: 32 },
]

/** Does nothing but what a test asks of it. */
function scripted(overrides: Partial<PowerCapPolicy> = {}): PowerCapPolicy {
  return {
    name: 'scripted',
    start: () => ({ tenants: two, smClockMhz: 900 }),
    onCapChange: () => undefined,
    onSample: () => undefined,
    onWindow: () => undefined,
    ...overrides,
  }
}

function board() {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('A100', { clock })
  return { clock, gpu, pool: new SimulatedTenants(gpu) }
}

async function run(policy: PowerCapPolicy, options: Partial<RunOptions> = {}) {
  const parts = board()
  const windows: WindowObservation[] = []
  const times: number[] = []
  const finished = runPolicy({
    ...parts,
    policy,
    caps: fixedCap(200),
    iterations: 3,
    onWindow: (window) => windows.push(window),
    onSample: (timeMs) => times.push(timeMs),
    ...options,
  })
  return { ...parts, windows, times, finished }
}

describe('a run', () => {
  it('samples as often as asked, also every half millisecond', async () => {
    const { finished, times } = await run(scripted(), { samplePeriodMs: 0.5, windowMs: 10, iterations: 1 })
    await finished
    expect(times.length).toBeGreaterThanOrEqual(20)
    await expect((await run(scripted(), { samplePeriodMs: 0 })).finished).rejects.toThrow(InvalidInputError)
  })

  it('counts its time from when it has the board', async () => {
    const parts = board()
    const acquire = parts.gpu.acquire.bind(parts.gpu)
    parts.gpu.acquire = async () => {
      await parts.clock.sleep(700)
      return acquire()
    }
    const { finished, times } = await run(scripted(), { ...parts, iterations: 1 })
    await finished
    expect([times[0], times.at(-1)]).toEqual([100, 5000])
    expect(parts.clock.now()).toBe(5700)
  })

  it('keeps with its record what the caller says of it, and nothing where that says nothing', async () => {
    const startOf = async (options: Partial<RunOptions>) => {
      const events: object[] = []
      const { finished } = await run(scripted(), { ...options, iterations: 1, onEvent: (event) => events.push(event) })
      await finished
      return events[0]
    }
    expect(await startOf({ about: { gpu: 'A100' } })).toMatchObject({ type: 'run-start', about: { gpu: 'A100' } })
    expect(await startOf({})).not.toHaveProperty('about')
  })

  it('closes the windows asked for, with the figures of the board', async () => {
    const { finished, windows, gpu } = await run(scripted())
    await finished
    expect(windows.map((window) => [window.iteration, window.startMs, window.endMs])).toEqual([
      [1, 0, 5000],
      [2, 5000, 10000],
      [3, 10000, 15000],
    ])
    const [first, , third] = windows
    expect(first!.reconfigured).toBe(true)
    expect(third).toMatchObject({ reconfigured: false, smClockMhz: 900, memClockMhz: 1215, powerCapW: 200 })
    const sum = third!.tenants.reduce((total, tenant) => total + tenant.throughput!, 0)
    expect(third!.throughput).toBe(sum)
    expect(third!.throughput).toBeGreaterThan(first!.throughput)
    expect(third!.tenants[0]!.latencyMs! * (third!.tenants[0]!.throughput! / 32)).toBeCloseTo(1000, -1)
    expect(third!.powerAverageW!).toBeGreaterThan(gpu.physics.power.idleW)
    expect(third!.powerMaxW!).toBeGreaterThanOrEqual(third!.powerAverageW!)
  })

  it('watches the power without a pause, also while tenants load and restart', async () => {
    const shifted = [{ ...two[0]!, mpsPercent: 40 }, two[1]!]
    const policy = scripted({ onWindow: ({ iteration }) => (iteration === 1 ? { tenants: shifted } : undefined) })
    const seen: boolean[] = []
    policy.onSample = (sample: SampleObservation) => {
      seen.push(sample.reconfiguring)
      return undefined
    }
    const { finished, times } = await run(policy)
    await finished
    expect(times).toEqual(Array.from({ length: 150 }, (_, i) => (i + 1) * 100))
    expect(seen.filter(Boolean).length).toBeGreaterThan(40)
    expect(seen.at(-1)).toBe(false)
  })

  it('counts the samples of processes that ended within a window', async () => {
    const shifted = two.map((tenant) => ({ ...tenant, mpsPercent: 40 }))
    const policy = scripted({ onSample: ({ timeMs }) => (timeMs === 14_000 ? { tenants: shifted } : undefined) })
    const { finished, windows } = await run(policy)
    await finished
    const [, second, third] = windows
    expect(third!.throughput).toBe(0)
    expect(third!.samples / (0.8 * second!.samples)).toBeCloseTo(1, 1)
  })

  it('lets a cap take effect at its time stamp, after the window that ends there', async () => {
    const changes: [number, number][] = []
    let nowMs = 0
    const policy = scripted({
      onSample: ({ timeMs, powerCapW }) => {
        nowMs = timeMs
        if (timeMs === 7500) expect(powerCapW).toBe(150)
        return undefined
      },
      onCapChange: (powerCapW) => {
        changes.push([nowMs, powerCapW])
        return { smClockMhz: 600 }
      },
    })
    const caps = capSchedule([
      { atMs: 0, powerCapW: 200 },
      { atMs: 5000, powerCapW: 180 },
      { atMs: 7500, powerCapW: 150 },
    ])
    const { finished, windows } = await run(policy, { caps })
    await finished
    expect(changes).toEqual([
      [4900, 180],
      [7400, 150],
    ])
    expect(windows.map((window) => window.powerCapW)).toEqual([200, 150, 150])
    expect(windows[2]!.smClockMhz).toBe(600)
  })

  it('is the same each time', async () => {
    const once = await run(scripted())
    await once.finished
    const again = await run(scripted())
    await again.finished
    expect(again.windows).toEqual(once.windows)
  })

  it('carries out the newest wish when tenants are changed twice in a row', async () => {
    const wishes: Action[] = [
      { tenants: [{ ...two[0]!, mpsPercent: 30 }] },
      { tenants: [{ ...two[0]!, mpsPercent: 70 }] },
    ]
    const policy = scripted({
      onSample: ({ timeMs }) => (timeMs === 5200 ? wishes[0] : timeMs === 5300 ? wishes[1] : undefined),
    })
    const { finished, windows } = await run(policy)
    await finished
    expect(windows[2]!.tenants.map((tenant) => tenant.tenant.mpsPercent)).toEqual([70])
  })

  it('reports a tenant that failed, and goes on', async () => {
    const huge: Tenant[] = [{ model: 'maxvit_t', mpsPercent: 100, batchSize: 4096 }]
    const { finished, windows } = await run(scripted({ start: () => ({ tenants: huge }) }))
    await finished
    expect(windows[2]!.tenants[0]!.failure).toMatch(/out of memory/)
    expect(windows[2]!.throughput).toBe(0)
  })
})

describe('whatever ends a run, the board is as it was found', () => {
  const expectUntouched = async ({ gpu, pool, clock }: ReturnType<typeof board>) => {
    await clock.sleep(200)
    expect(await gpu.sample()).toMatchObject({ smClockMhz: 210, memClockMhz: 1215 })
    expect((await gpu.info()).powerLimitW).toBe(250)
    expect(gpu.truth().throughput).toBe(0)
    expect(pool.counters()).toEqual([])
    await (await gpu.acquire()).release()
  }
  const change: Action = { tenants: two, smClockMhz: 900, powerLimitW: 200 }

  it('after a normal end', async () => {
    const result = await run(scripted({ start: () => change }))
    await result.finished
    await expectUntouched(result)
  })

  it('after a policy that throws', async () => {
    const policy = scripted({
      start: () => change,
      onWindow: () => {
        throw new Error('policy bug')
      },
    })
    const result = await run(policy)
    await expect(result.finished).rejects.toThrow('policy bug')
    await expectUntouched(result)
  })

  it('after a policy that asks for what the board refuses', async () => {
    const result = await run(scripted({ start: () => change, onWindow: () => ({ smClockMhz: 901 }) }))
    await expect(result.finished).rejects.toThrow(InvalidInputError)
    await expectUntouched(result)
  })

  it('after tenants that cannot be', async () => {
    const impossible = [{ model: 'resnet50', mpsPercent: 300, batchSize: 1 }]
    const result = await run(scripted({ start: () => ({ ...change, tenants: impossible }) }))
    await expect(result.finished).rejects.toThrow(/mpsPercent: got 300/)
    await expectUntouched(result)
  })

  it('after an abort, in the middle of loading', async () => {
    const controller = new AbortController()
    const result = await run(scripted({ start: () => change }), { signal: controller.signal })
    void result.clock.sleep(1000).then(() => controller.abort(new Error('stopped by the user')))
    await expect(result.finished).rejects.toThrow('stopped by the user')
    await expectUntouched(result)
  })

  it('does not even start when already aborted', async () => {
    const result = await run(scripted({ start: () => change }), { signal: AbortSignal.abort(new Error('too late')) })
    await expect(result.finished).rejects.toThrow('too late')
    expect(result.clock.now()).toBe(0)
  })
})

it.each([
  [{ iterations: 0 }, /iterations: got 0/],
  [{ iterations: 1.5 }, /iterations: got 1.5/],
  [{ windowMs: 50 }, /windowMs: got 50/],
  [{ samplePeriodMs: 0 }, /at least the sample period/],
])('refuses %o', async (options, message) => {
  const { finished } = await run(scripted(), options)
  await expect(finished).rejects.toThrow(message)
})

import { type Fault, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { type CapSchedule, capSchedule, fixedCap, type Tenant, VirtualClock } from '@pctodl/platform'
import { evaluate, RunRecorder } from '@pctodl/report/evaluate'
import {
  type Action,
  commonLoad,
  commonLoadPredictor,
  type PowerCapPolicy,
  planClocks,
  planPartition,
  type RunEvent,
  type RunOptions,
  runPolicy,
  type SampleObservation,
  type WindowObservation,
} from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'

const two: Tenant[] = [
  { model: 'resnet50', mpsPercent: 60, batchSize: 32 },
  { model: 'resnet50', mpsPercent: 40, batchSize: 16 },
]

interface Script {
  readonly start?: Action
  /** Asked for with the first sample from a time on, ms. */
  readonly at?: readonly (readonly [timeMs: number, action: Action])[]
  readonly policy?: Partial<PowerCapPolicy>
  readonly faults?: readonly Fault[]
  readonly caps?: CapSchedule
  readonly options?: Partial<RunOptions>
}

/** Run what a script asks for, and keep what its policy was told and what the board did. */
async function play({
  start,
  at = [],
  policy: own = {},
  faults = [],
  caps = fixedCap(200),
  options = {},
}: Script = {}) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('3080Ti', { clock, faults: { faults } })
  const pool = new SimulatedTenants(gpu)
  const samples: SampleObservation[] = []
  const windows: WindowObservation[] = []
  const events: RunEvent[] = []
  const told: (readonly [string, number])[] = []
  const truth: ReturnType<SimulatedGpu['truth']>[] = []
  const left = [...at]
  const policy: PowerCapPolicy = {
    name: 'scripted',
    start: (capW) => {
      told.push(['start', capW])
      return start ?? { tenants: two, smClockMhz: 900 }
    },
    onCapChange: (capW) => {
      told.push(['cap', capW])
      return undefined
    },
    onSample: (sample) => {
      samples.push(sample)
      return left[0] && sample.timeMs >= left[0][0] ? left.shift()![1] : undefined
    },
    onWindow: (window) => {
      windows.push(window)
      return undefined
    },
    ...own,
  }
  let error: unknown
  try {
    await runPolicy({
      ...{ gpu, pool, clock, policy, caps, iterations: 3 },
      ...options,
      onSample: (...seen) => {
        truth.push(gpu.truth())
        options.onSample?.(...seen)
      },
      onEvent: (event) => events.push(event),
    })
  } catch (thrown) {
    error = thrown
  }
  return { clock, gpu, pool, samples, windows, events, told, truth, error, policy }
}

type Played = Awaited<ReturnType<typeof play>>
const ofType = <T extends RunEvent['type']>({ events }: Played, type: T) =>
  events.filter((event): event is Extract<RunEvent, { readonly type: T }> => event.type === type)

/** Whatever happened: no process is left, and the board has its limit and its clocks back and is free. */
async function expectRestored({ gpu, pool, clock }: Played): Promise<void> {
  expect(pool.counters()).toEqual([])
  expect((await gpu.info()).powerLimitW).toBe(gpu.spec.powerLimitW.default)
  const lease = await gpu.acquire()
  await lease.release()
  await pool.apply([{ model: 'resnet50', mpsPercent: 20, batchSize: 1 }])
  await clock.sleep(2000)
  expect((await gpu.sample()).smClockMhz).toBeGreaterThan(1500)
  await pool.stop()
}

describe('a run', () => {
  it('samples each tenth of a second, loading or not, and closes windows on time', async () => {
    const played = await play({ at: [[7000, { tenants: two.slice(0, 1) }]] })
    expect(played.error).toBeUndefined()
    const times = played.samples.map(({ timeMs }) => timeMs)
    expect(times).toEqual(Array.from({ length: 150 }, (_, i) => 100 * (i + 1)))
    expect(played.samples.filter(({ reconfiguring }) => reconfiguring).length).toBeGreaterThan(10)
    expect(played.windows.map(({ iteration, startMs, endMs }) => [iteration, startMs, endMs])).toEqual([
      [1, 0, 5000],
      [2, 5000, 10_000],
      [3, 10_000, 15_000],
    ])
    expect(played.windows.map(({ reconfigured }) => reconfigured)).toEqual([true, true, false])
    expect(played.windows.at(-1)!.tenants.map(({ tenant }) => tenant)).toEqual(two.slice(0, 1))
    await expectRestored(played)
  })

  it('takes other periods, and refuses those that cannot be', async () => {
    const { samples, windows } = await play({ options: { samplePeriodMs: 250, windowMs: 1000, iterations: 4 } })
    expect(samples).toHaveLength(16)
    expect(windows).toHaveLength(4)
    for (const [options, message] of [
      [{ iterations: 0 }, /iterations: got 0/],
      [{ iterations: 1.5 }, /iterations/],
      [{ samplePeriodMs: 0 }, /windowMs|samplePeriodMs/],
      [{ windowMs: 50 }, /windowMs: got 50/],
      [{ sensorTolerancePercent: 50 }, /sensorTolerancePercent: got 50/],
    ] as const) {
      expect(String((await play({ options })).error)).toMatch(message)
    }
  })

  it('counts in a window what was completed in it, by whom, and what the board drew', async () => {
    const { windows, truth, samples } = await play()
    const { throughput, samples: completed, tenants, powerAverageW, powerMaxW, smClockMhz, validity } = windows.at(-1)!
    const part = truth.slice(100)
    const did = part.reduce((sum, each) => sum + each.throughput, 0) / part.length
    expect(throughput / did).toBeCloseTo(1, 1)
    expect(completed / 5 / throughput).toBeCloseTo(1, 1)
    expect(tenants.reduce((sum, each) => sum + each.throughput!, 0)).toBeCloseTo(throughput, 6)
    tenants.forEach(({ throughput: perS, latencyMs, validity: own, failure }, i) => {
      expect((perS! * latencyMs!) / 1000 / two[i]!.batchSize).toBeGreaterThan(0.7)
      expect((perS! * latencyMs!) / 1000 / two[i]!.batchSize).toBeLessThan(1.1)
      expect([own, failure]).toEqual(['ok', null])
    })
    expect(validity).toBe('ok')
    const readings = samples.slice(100).map(({ telemetry }) => telemetry.powerAverageW!)
    expect(powerAverageW).toBeCloseTo(readings.reduce((sum, watts) => sum + watts, 0) / readings.length, 3)
    expect(powerMaxW).toBe(Math.max(...readings))
    expect(smClockMhz).toBe(900)
  })

  it('tells of a tenant that died, that hangs, and how many still work', async () => {
    const dead = await play({ faults: [{ kind: 'client-killed', atMs: 8000, tenant: 1 }] })
    const late = dead.samples.at(-1)!
    expect(late.failures).toMatchObject([{ tenant: two[1], failure: expect.stringMatching(/\w/) }])
    expect(late.activeShare).toBe(1)
    expect(dead.windows.at(-1)!.tenants.map(({ failure }) => failure === null)).toEqual([true, false])
    expect(dead.windows.at(-1)!.validity).toBe('failed')
    expect(dead.samples[70]).toMatchObject({ failures: [], activeShare: 1 })
    const hung = await play({ faults: [{ kind: 'client-hung', atMs: 8000, tenant: 0, durationMs: 4000 }] })
    const shares = hung.samples.map(({ activeShare }) => activeShare)
    expect(Math.min(...shares.slice(85, 115).map((share) => share ?? 1))).toBeLessThan(1)
    expect(shares.at(-1)).toBe(1)
    expect(hung.windows[1]!.validity).toBe('stalled')
    expect(hung.samples.at(-1)!.stallNoticeMs).toBeGreaterThan(0)
    expect(hung.samples.at(-1)!.stallNoticeMs).toBeLessThan(2000)
  })

  it('tells each cap at its time, less what is kept for the sensor', async () => {
    const caps = capSchedule([
      { atMs: 0, powerCapW: 200 },
      { atMs: 4050, powerCapW: 150 },
      { atMs: 9000, powerCapW: 250 },
    ])
    const played = await play({ caps, options: { sensorTolerancePercent: 2, meter: () => 77 } })
    expect(played.told).toEqual([
      ['start', 196],
      ['cap', 147],
      ['cap', 245],
    ])
    expect(ofType(played, 'cap').map(({ timeMs, powerCapW }) => [timeMs, powerCapW])).toEqual([
      [4100, 150],
      [9000, 250],
    ])
    expect(played.samples.find(({ powerCapW }) => powerCapW === 147)!.timeMs).toBe(4100)
    expect(played.samples.every(({ meterPowerW }) => meterPowerW === 77)).toBe(true)
    expect(played.windows.map(({ powerCapW }) => powerCapW)).toEqual([147, 245, 245])
  })

  it('sets what is asked for, and says what is in force', async () => {
    const played = await play({
      start: { tenants: two, smClockMhz: 900, memClockMhz: 5001, powerLimitW: 180 },
      at: [
        [6000, { smClockMhz: 1200, memClockMhz: 9501, powerLimitW: 250 }],
        [10_000, { smClockMhz: 'unlocked', tenants: two.map((tenant) => ({ ...tenant, batchSize: 8 })) }],
      ],
    })
    const at = (timeMs: number) => played.samples.find((sample) => sample.timeMs === timeMs)!
    expect(at(5900).applied).toMatchObject({ smClockMhz: 900, memClockMhz: 5001, powerLimitW: 180, tenants: two })
    expect(at(5900).telemetry).toMatchObject({ smClockMhz: 900, memClockMhz: 5001 })
    expect(at(9000).applied).toMatchObject({ smClockMhz: 1200, memClockMhz: 9501, powerLimitW: 250 })
    expect(at(9000).telemetry).toMatchObject({ smClockMhz: 1200, memClockMhz: 9501 })
    expect(at(14_000).applied.smClockMhz).toBeNull()
    expect(at(14_000).telemetry.smClockMhz).toBeGreaterThan(1200)
    // Another batch size needs no other process.
    expect(ofType(played, 'tenant').filter(({ state }) => state === 'loading')).toHaveLength(2)
    expect(ofType(played, 'action').map(({ source }) => source)).toEqual(['start', 'sample', 'sample'])
    await expectRestored(played)
  })

  it('asks again for what the board refuses, and says so until it is granted', async () => {
    const faults: Fault[] = [{ kind: 'setter-refused', setter: 'sm-clock', atMs: 5000, durationMs: 4000 }]
    const played = await play({ faults, at: [[6000, { smClockMhz: 600 }]] })
    expect(played.error).toBeUndefined()
    expect(ofType(played, 'refused')).toMatchObject([{ setter: 'smClockMhz', value: 600, code: 'NO_PERMISSION' }])
    expect(ofType(played, 'granted')).toMatchObject([{ setter: 'smClockMhz', value: 600 }])
    const refusedMs = played.samples.map(({ smClockRefusedMs }) => smClockRefusedMs)
    expect(Math.max(...refusedMs)).toBeGreaterThan(2500)
    expect([refusedMs[55], refusedMs.at(-1)]).toEqual([0, 0])
    expect(played.samples.at(-1)!.applied.smClockMhz).toBe(600)
    // What is no longer wanted is not asked for.
    const other = await play({
      faults,
      at: [
        [6000, { smClockMhz: 600 }],
        [7000, { smClockMhz: 900 }],
      ],
    })
    expect(ofType(other, 'granted')).toEqual([])
    expect(other.samples.at(-1)).toMatchObject({ smClockRefusedMs: 0, applied: { smClockMhz: 900 } })
  })

  it('goes on without a hardware limit that the board does not have, and ends where a cap cannot be set', async () => {
    const faults: Fault[] = [{ kind: 'setter-refused', setter: 'power-limit', atMs: 0, reason: 'not-supported' }]
    const start: Action = { tenants: two, smClockMhz: 900, powerLimitW: 180 }
    const hardwareLimit = await play({
      faults,
      start: { ...start, powerLimitRole: 'hardware-limit' },
      options: { iterations: 8 },
    })
    expect(hardwareLimit.error).toBeUndefined()
    expect(ofType(hardwareLimit, 'refused')).toMatchObject([{ setter: 'powerLimitW', role: 'hardware-limit' }])
    const cap = await play({ faults, start, options: { iterations: 8 } })
    expect(cap.error).toMatchObject({ code: 'NOT_SUPPORTED' })
    expect(cap.samples.at(-1)!.timeMs).toBeGreaterThanOrEqual(29_000)
    await expectRestored(cap)
  })

  it('asks again for what was lost, where a policy says so', async () => {
    const lock = { smClockMhz: 600 }
    const faults: Fault[] = [{ kind: 'setter-ignored', setter: 'sm-clock', atMs: 5500, durationMs: 1000 }]
    const clockAt = async (again: boolean) => {
      const at = [
        [6000, lock],
        [8000, again ? { ...lock, again } : lock],
      ] as readonly (readonly [number, Action])[]
      return (await play({ faults, at })).samples.at(-1)!.telemetry.smClockMhz
    }
    expect([await clockAt(false), await clockAt(true)]).toEqual([900, 600])
  })

  it('lets nobody run where nobody shall, also in the middle of loading', async () => {
    const played = await play({
      at: [
        [500, { tenants: [] }],
        [9000, { tenants: two.slice(1) }],
      ],
    })
    expect(played.error).toBeUndefined()
    expect(played.samples.find(({ timeMs }) => timeMs === 8000)).toMatchObject({
      activeShare: null,
      reconfiguring: false,
    })
    expect(played.windows[1]!.throughput).toBe(0)
    expect(played.windows.at(-1)!.tenants.map(({ tenant }) => tenant)).toEqual(two.slice(1))
    expect(played.truth[80]!.throughput).toBe(0)
  })
})

describe('a run that ends', () => {
  it.each([
    [
      'by its policy',
      {
        policy: {
          onWindow: () => {
            throw new Error('no more')
          },
        },
      },
      /no more/,
    ],
    ['with its board', { faults: [{ kind: 'gpu-lost', atMs: 7000 }] as Fault[] }, /bus|lost/i],
    [
      'for a clock that the board does not have',
      { at: [[3000, { smClockMhz: 1 }]] as [number, Action][] },
      /smClockMhz/,
    ],
    ['for a network that nobody knows', { start: { tenants: [{ ...two[0]!, model: 'nobody' }] } }, /nobody/],
  ])('%s says why, and gives back what it had', async (_, script: Script, message) => {
    const played = await play(script)
    expect(String(played.error)).toMatch(message)
    expect(played.events.at(-1)).toMatchObject({
      type: 'run-end',
      outcome: 'failed',
      message: expect.stringMatching(message),
    })
    if (script.faults === undefined) await expectRestored(played)
  })

  it('because somebody wants so, too', async () => {
    const stop = new AbortController()
    const played = await play({
      options: { signal: stop.signal, onSample: (timeMs) => timeMs >= 6000 && stop.abort(new Error('enough')) },
    })
    expect(String(played.error)).toMatch(/enough/)
    expect(played.events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'aborted' })
    expect(played.samples.at(-1)!.timeMs).toBeLessThan(6200)
    await expectRestored(played)
    expect(String((await play({ options: { signal: AbortSignal.abort(new Error('before')) } })).error)).toMatch(
      /before/,
    )
  })
})

describe('what a run is judged by', () => {
  const telemetry = {
    smUtilPercent: 90,
    memUtilPercent: 50,
    temperatureC: 60,
    memoryUsedBytes: 1e9,
    clocksEventReasons: [],
  }
  /** A run of so many seconds at powers and caps of each, told as a run tells it, at 100 samples/s. */
  function told(powersW: readonly number[], capsW: readonly number[]) {
    const recorder = new RunRecorder()
    let energyJ = 0
    const inForce = { smClockMhz: 900, memClockMhz: 9501, powerLimitW: 200 }
    recorder.add({ type: 'action', timeMs: 0, action: { smClockMhz: 900, tenants: two } })
    for (let i = 1; i <= 10 * powersW.length; i++) {
      const second = Math.ceil(i / 10) - 1
      const [powerW, powerCapW] = [powersW[second]!, capsW[second]!]
      energyJ += powerW / 10
      const reading = {
        ...telemetry,
        timeMs: 100 * i,
        powerAverageW: powerW,
        powerInstantW: powerW,
        energyJ,
        smClockMhz: 900,
        memClockMhz: 9501,
      }
      const rest = { reconfiguring: false, smClockRefusedMs: 0, failures: [], inForce, completed: 10 * i }
      if (i % 100 === 0) recorder.add({ type: 'action', timeMs: 100 * i, action: { smClockMhz: 900 + i } })
      recorder.add({ type: 'sample', timeMs: 100 * i, telemetry: reading, powerCapW, ...rest })
    }
    return evaluate(recorder.recording())
  }
  const flat = (watts: number, count: number) => Array.from({ length: count }, () => watts)

  it('is the time above, the energy above, the work and the changes', () => {
    const { whole, source } = told([...flat(190, 40), ...flat(220, 4), ...flat(190, 56)], flat(200, 100))
    expect(source).toBe('sensor')
    expect(whole.durationMs).toBeCloseTo(100_000, -2)
    // A mean of a second passes 202 W after 0.4 s, and is below again 0.6 s after it ended.
    expect(whole.violationPercent!.value).toBeGreaterThan(3.9)
    expect(whole.violationPercent!.value).toBeLessThan(4.5)
    expect(whole.longestExcessMs).toBeGreaterThan(3900)
    expect(whole.longestExcessMs).toBeLessThan(4500)
    expect(whole.excessEnergyJ).toBeCloseTo(80, 0)
    expect(whole.excessEnergyPercent!.value).toBeCloseTo(0.4, 1)
    expect(whole.peakExcessPercent).toBeCloseTo(10, 1)
    expect(whole.capUtilisationPercent!.value).toBeCloseTo(95.6, 1)
    expect(whole.throughput!.value).toBeCloseTo(100, 0)
    expect(whole.compliantThroughput!.value).toBeLessThan(97)
    expect(whole.energyPerSampleJ).toBeCloseTo(1.912, 2)
    expect(whole.actuationsPerMinute['sm-clock']).toBeGreaterThan(5)
    expect(whole.actuationsPerMinute['sm-clock']).toBeLessThan(8)
    expect(whole.actuationsPerMinute['power-limit']).toBe(0)
    expect(told(flat(190, 40), flat(200, 40)).whole).toMatchObject({ longestExcessMs: 0, excessEnergyJ: 0 })
  })

  it('is how power moves while it should rest, and how soon it follows a step', () => {
    const wave = told(
      Array.from({ length: 120 }, (_, s) => 190 + 6 * Math.sin((2 * Math.PI * s) / 12)),
      flat(200, 120),
    )
    expect(wave.whole.ripple!.periodMs).toBeGreaterThan(11_000)
    expect(wave.whole.ripple!.periodMs).toBeLessThan(13_000)
    expect(wave.whole.ripple!.standardDeviationW).toBeCloseTo(6 / Math.SQRT2, 0)
    expect(wave.whole.ripple!.peakToPeakW).toBeCloseTo(12, 0)
    expect(told(flat(190, 120), flat(200, 120)).whole.ripple!.periodMs).toBeNull()
    const { steps } = told(
      [...flat(195, 40), ...flat(170, 4), ...flat(147, 56), ...flat(180, 5), ...flat(195, 55)],
      [...flat(200, 40), ...flat(150, 60), ...flat(200, 60)],
    )
    const [down, up] = steps
    expect(down).toMatchObject({ fromW: 200, toW: 150 })
    expect(down!.atMs).toBeCloseTo(40_000, -3)
    expect(down!.settlingMs).toBeGreaterThan(4000)
    expect(down!.settlingMs).toBeLessThan(5500)
    expect(up!.settlingMs).toBeGreaterThan(4500)
    expect(up!.settlingMs).toBeLessThan(6500)
  })

  it('leaves the start and the aftermath of steps out of what is steady, and says how each step was met', () => {
    const { steady, whole, steps, energyCounterRatio } = told(
      [...flat(190, 40), ...flat(190, 3), ...flat(148, 37), ...flat(250, 20)],
      [...flat(200, 40), ...flat(150, 40), ...flat(255, 20)],
    )
    expect(whole.violationPercent!.value).toBeGreaterThan(2)
    expect(steady.violationPercent!.value).toBe(0)
    expect(steady.durationMs).toBeLessThan(whole.durationMs)
    expect(steps).toHaveLength(2)
    expect(energyCounterRatio).toBeCloseTo(1, 2)
  })

  it('of a real run is what its board did', async () => {
    const recorder = new RunRecorder()
    const played = await play({
      options: { iterations: 6 },
      at: [
        [12_000, { smClockMhz: 1500 }],
        [20_000, { smClockMhz: 900 }],
      ],
    })
    for (const event of played.events) recorder.add(event)
    const { whole } = evaluate(recorder.recording())
    expect(whole.energyPerSampleJ! * whole.throughput!.value).toBeCloseTo(played.truth.at(-1)!.energyJ / 30, -1.5)
    expect(whole.oracleRatio).toBeNull()
    const half = evaluate(recorder.recording(), { oracleThroughput: () => 2 * whole.throughput!.value }).whole
    expect(half.oracleRatio).toBeCloseTo(0.5, 6)
  })
})

describe('plans for a policy', () => {
  const model = loadPerfModel('3080Ti')

  it('have the clocks at which given tenants do most within a cap', () => {
    for (const capW of [150, 220, 300]) {
      const { smClockMhz, memClockMhz } = planClocks(model, two, capW)
      const best = model.predict({ tenants: two, smClockMhz, memClockMhz })
      expect(best.powerW).toBeLessThanOrEqual(capW)
      for (const other of model.memClocksMhz) {
        const clock = model.solveSmClock(two, other, capW)
        if (clock === undefined) continue
        expect(model.predict({ tenants: two, smClockMhz: clock, memClockMhz: other }).throughput).toBeLessThanOrEqual(
          best.throughput,
        )
      }
    }
    expect(planClocks(model, two, 10)).toEqual({ memClockMhz: Math.min(...model.memClocksMhz), smClockMhz: 210 })
    expect(planClocks(model, two, 220, [5001]).memClockMhz).toBe(5001)
    expect(planClocks(model, [{ ...two[0]!, batchSize: 1000 }], 220)).toEqual(
      planClocks(model, [{ ...two[0]!, batchSize: 256 }], 220),
    )
  })

  it('are errors where there are none', () => {
    expect(planPartition(model, { model: 'resnet50', powerCapW: 200 }).tenants.length).toBeGreaterThan(0)
    expect(() => planPartition(model, { model: 'resnet50', powerCapW: 20 })).toThrow(/20 W cannot be kept .* \d/)
    expect(() => planPartition(model, { model: 'vgg19', powerCapW: 200, latencySloMs: 0.1 })).toThrow(/latency/)
    expect(() => planPartition(model, { powerCapW: 200 })).toThrow(/models/)
  })

  it('of a mix count what all carry together', () => {
    const mix = { resnet50: 2, vgg19: 1 }
    const tenants = [two[0]!, { model: 'vgg19', mpsPercent: 40, batchSize: 8 }]
    const said = model.predict({ tenants, smClockMhz: 1200, memClockMhz: 9501 })
    // All three parts of what is asked for together, at the pace of the one that lags.
    const carried = 3 * Math.min(said.tenants[0]!.throughput / 2, said.tenants[1]!.throughput)
    const common = commonLoadPredictor(model, mix).predict({ tenants, smClockMhz: 1200, memClockMhz: 9501 })
    expect(common.throughput / carried).toBeCloseTo(1, 9)
    expect(commonLoad(tenants, (i) => [300, 90][i]!, mix)).toBe(270)
    expect(() => commonLoadPredictor(model, { resnet50: 0 })).toThrow(/mix\.resnet50: got 0/)
    expect(common.powerW).toBe(said.powerW)
  })
})

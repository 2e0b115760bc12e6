import { findOracle, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { fixedCap, InfeasibleCapError, smClocksAt, VirtualClock } from '@pctodl/platform'
import { PctodlPolicy, runPolicy } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'
import { storyOf } from './expect-kept.js'
import { between, fixed, judgeCap, meanThroughput, ofType, pctodl, pctodlWith, steps, tell, used } from './harness.js'

const model = loadPerfModel('3080Ti')

describe('the throughput of a cap', () => {
  it.each([
    ['3080Ti', 'resnet50', 180, 0.99],
    ['A100', 'resnet50', 200, 0.99],
    ['3080Ti', 'vgg19', 250, 0.99],
    ['A100', 'mnasnet1_0', 120, 0.97],
    ['A100~v3', 'densenet201', 170, 0.9],
  ] as const)(
    'on %s of %s at %i W is near that of the best shares in quarters',
    async (board, network, capW, least) => {
      const best = findOracle(board, network, capW, { sharePercentStep: 25, batchSizes: [8, 32, 128] })
      const told = await tell(storyOf('', { board, model: network, caps: fixed(capW), seconds: 30 }))
      const part = between(told, 15)
      expect(meanThroughput(part)).toBeGreaterThan(least * best.throughput * used(part))
      expect(meanThroughput(part)).toBeGreaterThan((least - 0.03) * best.throughput)
    },
  )

  it('is all that the board can do where the cap is no limit', async () => {
    const told = await tell(storyOf('', { model: 'mnasnet1_0', caps: fixed(350), seconds: 25 }))
    const best = findOracle('3080Ti', 'mnasnet1_0', 350, { sharePercentStep: 25, batchSizes: [8, 32, 128] })
    expect(meanThroughput(between(told, 15))).toBeGreaterThan(0.98 * best.throughput)
  })

  it('is what the highest clock gives where even that stays below the cap', async () => {
    const tenants = [{ model: 'mnasnet1_0', mpsPercent: 20, batchSize: 4 }]
    const policy = pctodlWith({ fixed: { tenants, memClockMhz: 9501 } })
    const told = await tell(storyOf('', { model: 'mnasnet1_0', caps: fixed(340), seconds: 25 }), policy)
    const highest = Math.max(...smClocksAt(model.spec, 9501)!)
    expect(between(told, 15).every(({ smClockMhz }) => smClockMhz >= highest - 15)).toBe(true)
  })
})

describe('a sensor that lies', () => {
  const lies = { faults: [{ kind: 'sensor-bias', atMs: 15_000, gainPercent: -10 }] } as const
  it('is found out by the energy counter', async () => {
    for (const policy of [pctodl, pctodlWith({ hardwareLimitPercent: null })]) {
      const told = await tell(storyOf('', { ...lies, seconds: 50 }), policy)
      expect(used(between(told, 35))).toBeLessThan(1.01)
      expect(used(between(told, 35))).toBeGreaterThan(0.86)
      expect(judgeCap(told).peak).toBeLessThan(1.13)
    }
  })

  it('is found out by a meter of another', async () => {
    let energyJ = 0
    let trueW: number | null = null
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('3080Ti', { clock, faults: { faults: [{ ...lies.faults[0], atMs: 0 }] } })
    const watts: number[] = []
    await runPolicy({
      gpu,
      pool: new SimulatedTenants(gpu),
      clock,
      policy: new PctodlPolicy({ predictor: model, model: 'resnet50', shadow: false }),
      caps: fixedCap(200),
      iterations: 8,
      meter: () => trueW,
      onSample: () => {
        trueW = 10 * (gpu.truth().energyJ - energyJ)
        energyJ = gpu.truth().energyJ
        watts.push(trueW)
      },
    })
    const late = watts.slice(-150)
    expect(late.reduce((sum, watt) => sum + watt, 0) / late.length).toBeLessThan(1.012 * 200)
  })

  it('has room where a run keeps some for it', async () => {
    const told = await tell(storyOf('', { run: { sensorTolerancePercent: 5 }, seconds: 25 }))
    expect(judgeCap(told).peak).toBeLessThan(0.96)
    expect(used(between(told, 12))).toBeGreaterThan(0.92)
  })
})

describe('what is promised of tenants', () => {
  it('no batch takes longer than its bound', async () => {
    const policy = pctodlWith({ partition: { latencySloMs: 40 } })
    const told = await tell(storyOf('', { seconds: 30, caps: steps(15, 220, 150) }), policy)
    const windows = ofType(told, 'window').map(({ window }) => window)
    const settled = windows.filter(({ iteration, reconfigured }) => iteration !== 1 && !reconfigured)
    expect(settled.length).toBeGreaterThan(2)
    for (const { latencyMs } of settled.flatMap(({ tenants }) => tenants)) expect(latencyMs).toBeLessThan(1.15 * 40)
  })

  it('each of several networks runs, and the one that is worth more gets more', async () => {
    const perS = async (weight: number) => {
      const policy = pctodlWith({ models: [{ model: 'resnet50' }, { model: 'vgg19', weight }] })
      const told = await tell(storyOf('', { seconds: 15 }), policy)
      const { tenants } = ofType(told, 'window').at(-1)!.window
      return ['resnet50', 'vgg19'].map((name) =>
        tenants.filter(({ tenant }) => tenant.model === name).reduce((sum, { throughput }) => sum + throughput!, 0),
      )
    }
    const [light, heavy] = [await perS(0.2), await perS(8)]
    expect(Math.min(...light, ...heavy)).toBeGreaterThan(0)
    expect(heavy[1]).toBeGreaterThan(1.3 * light[1]!)
    expect(heavy[0]).toBeLessThan(light[0]!)
  })

  it('tenants that a run fixes are left as they are', async () => {
    const tenants = [{ model: 'resnet50', mpsPercent: 60, batchSize: 16 }]
    const told = await tell(
      storyOf('', { caps: steps(10, 200, 150), seconds: 20 }),
      pctodlWith({ fixed: { tenants, memClockMhz: 9501 } }),
    )
    expect(ofType(told, 'window').every(({ window }) => window.applied.tenants[0] === tenants[0])).toBe(true)
    expect(ofType(told, 'tenant').filter(({ state }) => state === 'loading')).toHaveLength(1)
  })

  it('a cap that nothing keeps is an error that names the lowest that can be kept', () => {
    const policy = new PctodlPolicy({ predictor: model, model: 'resnet50' })
    let error: unknown
    try {
      policy.start(30)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(InfeasibleCapError)
    const { lowestFeasibleW } = error as InfeasibleCapError
    expect(lowestFeasibleW).toBeGreaterThan(30)
    expect(policy.start(lowestFeasibleW).tenants).toHaveLength(1)
  })

  it('options that cannot be are refused by name', () => {
    const refused = (options: object) => () => new PctodlPolicy({ predictor: model, ...options }).start(200)
    expect(refused({})).toThrow(/models/)
    expect(refused({ model: 'resnet50', models: 'vgg19' })).toThrow(/models/)
    expect(refused({ model: 'nobody' })).toThrow(/nobody/)
    expect(refused({ model: 'resnet50', partition: { sharePercentStep: 0 } })).toThrow(/sharePercentStep/)
  })
})

describe('a run', () => {
  it('that looks for better tenants while it runs ends with no less, and keeps the cap', async () => {
    // Begun with tenants that are far from the best.
    const tenants = [{ model: 'resnet50', mpsPercent: 30, batchSize: 8 }]
    const start = { fixed: { tenants, memClockMhz: 9501 } }
    const during = storyOf('', { seconds: 120, caps: fixed(200) })
    const still = await tell({ ...during, seconds: 30 }, pctodlWith(start))
    const looking = await tell(during, pctodlWith({ ...start, shadow: { interval: 1 } }))
    expect(meanThroughput(between(looking, 100))).toBeGreaterThan(1.1 * meanThroughput(between(still, 20)))
    expect(judgeCap(looking).aboveShare).toBeLessThan(0.01)
  })
})

/** What the simulated boards do, compared with stored values; `-u` stores those of a change on purpose. */
import { layerGraph, trainingGraph } from '@pctodl/model-zoo'
import { findGpuSpec, type Service, smClocksAt, type Tenant, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { digest } from '../../../test/contract/stored.js'
import type { Execution } from '../src/execution.js'
import {
  boardVariants,
  type Fault,
  findBoardVariant,
  SimulatedDesk,
  SimulatedGpu,
  SimulatedTenants,
  SimulatedTraining,
  simulatedBoards,
  simulateSteadyState,
} from '../src/index.js'
import { poisson } from './serving-laws.js'

const alone: Tenant[] = [{ model: 'vgg19', mpsPercent: 100, batchSize: 64 }]
const mixed: Tenant[] = [
  { model: 'resnet50', mpsPercent: 40, batchSize: 32 },
  { model: 'resnet50', mpsPercent: 40, batchSize: 32 },
  { model: 'maxvit_t', mpsPercent: 20, batchSize: 4 },
]
const executions: Readonly<Record<string, Execution>> = {
  usual: {},
  'fp32, without MPS': { precision: 'fp32', mps: 'off' },
  'int8, zeros, graphs': { precision: 'int8', inputs: 'zeros', launch: 'graph', host: 'device-only' },
  'tf32, graphs': { precision: 'tf32', launch: 'graph' },
}

it.each(['3080Ti', 'A100', 'V100'])('the variants of %s are those stored, and as many as asked', (board) => {
  const variants = boardVariants(board, { count: 8, seed: 3 })
  expect(variants.map((variant) => digest(variant))).toMatchSnapshot()
  expect(digest(findBoardVariant(`${board}~s3v5`))).toBe(digest(variants[4]))
  expect(boardVariants(board, { count: 1, seed: 3 })).toEqual([variants[0]])
  for (const count of [0, 1.5, 10_001]) expect(() => boardVariants(board, { count })).toThrow('count: got')
})

/** Boards of four generations, with each law of power, contention and firmware. */
const unlike = ['3080Ti', 'A100', 'V100', 'P100', 'H100']

it.each(simulatedBoards)('the steady states of %s are those stored', (board) => {
  const spec = findGpuSpec(board)
  const asked = Object.entries(executions).slice(0, unlike.includes(board) ? undefined : 1)
  const lines = asked.map(([name, execution]) => {
    const free = simulateSteadyState(board, { ...execution, powerLimitW: 1e9 })
    const limited = simulateSteadyState(board, { ...execution, powerLimitW: 0.6 * spec.powerLimitW.default })
    const [top, ...lower] = spec.performanceMemClocksMhz
    const states = [alone, mixed].flatMap((tenants) => [
      free({ tenants, smClockMhz: spec.boostClockMhz, memClockMhz: top! }),
      free({ tenants, smClockMhz: 0.6 * spec.boostClockMhz, memClockMhz: lower.at(-1) ?? top! }),
      limited({ tenants, smClockMhz: spec.boostClockMhz, memClockMhz: top! }),
    ])
    return `${name}: ${states.map(({ powerW }) => `${powerW.toFixed(2)} W`).join(', ')} ${digest(states)}`
  })
  expect(lines).toMatchSnapshot()
})

it.each(['3080Ti', 'A100'])('variants of %s share their bandwidth among three networks as stored', (board) => {
  const crowded = [...alone, ...mixed].map((tenant) => ({ ...tenant, mpsPercent: 25 }))
  const { boostClockMhz: smClockMhz, performanceMemClocksMhz } = findGpuSpec(board)
  const at = { tenants: crowded, smClockMhz, memClockMhz: performanceMemClocksMhz.at(-1)! }
  const lines = boardVariants(board, { count: 8, seed: 3 }).map((variant, i) => {
    const { powerW, throughput } = simulateSteadyState(`${board}~s3v${i + 1}`, { powerLimitW: 1e9 })(at)
    return `${variant.physics.work.contention}: ${powerW.toFixed(2)} W, ${throughput.toFixed(2)}/s`
  })
  expect(lines).toMatchSnapshot()
})

describe.each(['3080Ti', 'A100'])('a %s', (board) => {
  it('under limits, locked clocks, faults and other tenants does what is stored', async () => {
    const clock = new VirtualClock()
    const faults: Fault[] = [
      { kind: 'sensor-bias', gainPercent: -8, atMs: 9000, durationMs: 1500 },
      { kind: 'thermal-slowdown', atMs: 11_000, durationMs: 700 },
      { kind: 'client-hung', tenant: 1, atMs: 12_000, durationMs: 600 },
      { kind: 'client-killed', tenant: 0, atMs: 13_000 },
      { kind: 'telemetry-frozen', atMs: 13_500, durationMs: 500 },
    ]
    const gpu = new SimulatedGpu(board, { clock, seed: 5, faults: { faults, seed: 3, jitterMs: 50 } })
    const pool = new SimulatedTenants(gpu)
    const lines: string[] = []
    const see = async (what: string, ms: number) => {
      for (let i = 0; i < 4; i++) {
        await clock.sleep(ms / 4)
        const seen = [gpu.truth(), await gpu.sample(), pool.counters(), gpu.struckFaults()]
        lines.push(`${what}: ${gpu.truth().powerW.toFixed(2)} W, ${gpu.truth().smClockMhz} MHz ${digest(seen)}`)
      }
    }
    await see('idle', 400)
    const lease = await gpu.acquire()
    await pool.apply(mixed)
    await see('free', 1000)
    await lease.setPowerLimit(gpu.spec.powerLimitW.min)
    await see('limited', 2500)
    await lease.lockSmClock(smClocksAt(gpu.spec, gpu.spec.performanceMemClocksMhz[0]!)![20]!)
    await see('locked', 500)
    await lease.resetPowerLimit()
    await lease.release()
    await see('released', 1600)
    await clock.sleep(Math.max(0, 9000 - clock.now()))
    await see('struck', 5200)
    await pool.apply([{ ...mixed[0]!, batchSize: 8 }, mixed[2]!])
    await see('changed', 600)
    await pool.stop()
    await see('stopped', 400)
    expect(lines).toMatchSnapshot()
  })

  it('with services whose terms and tenants change answers what is stored', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu(board, { clock, seed: 6 })
    const service = (name: string, model: string, p99Ms: number): Service => ({
      ...{ name, model, objective: { p99Ms }, weight: 1, maxBatchSize: 8, maxQueueDelayMs: 3 },
    })
    const [search, photos] = [service('search', 'resnet50', 40), service('photos', 'mobilenet_v2', 20)]
    const desk = new SimulatedDesk(gpu, ({ objective }) => ({
      arrivals: poisson(300, objective.p99Ms),
      maxQueued: 12,
      shedAfterMs: 2 * objective.p99Ms,
    }))
    const pool = new SimulatedTenants(gpu)
    const serving = (mpsPercent: number, ...services: Service[]): Tenant[] =>
      services.map(({ name, model }) => ({ service: name, model, mpsPercent, batchSize: 8 }))
    const lines: string[] = []
    const see = async (what: string) => {
      await clock.sleep(500)
      const counts = desk.counters()
      lines.push(`${what}: ${counts.map(({ completed }) => completed).join(', ')} ${digest([counts, pool.counters()])}`)
    }
    desk.serve([search, photos])
    await pool.apply(serving(50, search, photos))
    await see('both')
    desk.admit('search', 0.5)
    await see('half of the first shed')
    desk.serve([{ ...search, objective: { p99Ms: 15 } }, photos])
    await pool.apply([...serving(30, photos, search)])
    await see('other shares')
    await pool.apply(serving(30, photos))
    desk.serve([photos])
    await see('one left')
    expect([...lines, digest(desk.departed)]).toMatchSnapshot()
  })
})

it('a training on unequal boards takes the steps that are stored', async () => {
  const clock = new VirtualClock()
  const network = trainingGraph(layerGraph('mobilenet_v2'))
  const [a, b] = ['A100', '3080Ti'].map((board) => new SimulatedGpu(board, { clock, seed: 2, networks: [network] }))
  const workers = [
    { gpu: a!, share: 33, microBatches: 2 },
    { gpu: b!, share: 1, mpsPercent: 60 },
  ]
  const training = new SimulatedTraining(workers, { model: network.name, allReduceMs: 7 })
  await training.start()
  const lines: string[] = []
  for (let i = 0; i < 4; i++) {
    await training.further(3)
    const energies = workers.map(({ gpu }) => gpu.truth().energyJ)
    lines.push(
      `${training.steps}: ${training.lastStepMs!.toFixed(3)} ms, ${energies.map((j) => j.toFixed(2)).join(', ')} J`,
    )
  }
  await training.stop()
  expect(lines).toMatchSnapshot()
})

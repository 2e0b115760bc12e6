import { type Fault, SimulatedDesk, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { type CapSchedule, capSchedule, type Service, VirtualClock } from '@pctodl/platform'
import { evaluate, RunRecorder } from '@pctodl/report/evaluate'
import { describe, expect, it } from 'vitest'
import {
  PctodlPolicy,
  type PowerCapPolicy,
  PublishedPolicy,
  planWithModel,
  type RunEvent,
  type RunOptions,
  runPolicy,
  ServicesPolicy,
} from '../src/index.js'

const model = loadPerfModel('3080Ti')

interface Run {
  readonly policy: PowerCapPolicy
  readonly caps: CapSchedule
  readonly iterations: number
  readonly faults?: readonly Fault[]
  readonly services?: (gpu: SimulatedGpu) => RunOptions['services']
}

/** What was decided and asked for when, and how the run is judged. */
async function told({ policy, caps, iterations, faults = [], services }: Run): Promise<string[]> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('3080Ti', { clock, seed: 3, faults: { faults } })
  const recorder = new RunRecorder(() => gpu.truth().meteredEnergyJ)
  const lines: string[] = []
  const clocks: unknown[] = []
  const served = services?.(gpu)
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy,
    caps,
    iterations,
    ...(served ? { services: served } : {}),
    onEvent: (event) => {
      recorder.add(event)
      const line = lineOf(event)
      if (line !== undefined) lines.push(line)
      if (event.type === 'action' && event.action.smClockMhz !== undefined) clocks.push(event.action.smClockMhz)
    },
  })
  lines.push(`clocks ${clocks.join(' ')}`)
  const { steady, whole, ...rest } = evaluate(recorder.recording(), { oracleThroughput: (capW) => 4 * capW })
  return [...lines, shown({ steady, whole, ...rest })]
}

function lineOf(event: RunEvent): string | undefined {
  // What the clock's status is comes and goes with each reading; the clocks themselves are told below.
  if (event.type === 'decision' && event.decision.kind === 'clock-status') return undefined
  if (event.type === 'decision') return `${event.timeMs} ${event.decision.kind}: ${event.decision.reason}`
  if (event.type !== 'action' || (event.action.tenants === undefined && event.action.memClockMhz === undefined)) return
  const { tenants, memClockMhz, reason } = event.action
  const what = tenants?.map(({ model: network, mpsPercent, batchSize }) => `${network} ${mpsPercent}:${batchSize}`)
  return `${event.timeMs} ${event.source}: ${what?.join(', ') ?? '-'} at ${memClockMhz ?? '-'} MHz; ${reason}`
}

/** To six digits. */
function shown(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'number' ? Number(each.toPrecision(6)) : each))
}

// The whole loop in virtual time. Whoever changes a threshold of it, or the simulated board, sees here what is decided otherwise.
describe('the same runs as before', () => {
  it('are those of the pctodl policy under a cap that moves', async () => {
    const policy = new PctodlPolicy({ predictor: model, model: 'resnet50', partition: { budgetEvaluations: 300 } })
    const caps = capSchedule([
      { atMs: 0, powerCapW: 200 },
      { atMs: 30_000, powerCapW: 150 },
      { atMs: 65_000, powerCapW: 250 },
    ])
    expect(await told({ policy, caps, iterations: 22 })).toMatchSnapshot()
  })

  it('are those of the pctodl policy with tenants that die', async () => {
    const policy = new PctodlPolicy({ predictor: model, model: 'vgg19', partition: { budgetEvaluations: 200 } })
    const caps = capSchedule([{ atMs: 0, powerCapW: 220 }])
    const faults: readonly Fault[] = [
      { kind: 'client-killed', atMs: 12_000, tenant: 0 },
      { kind: 'client-out-of-memory', atMs: 30_000, tenant: 1 },
      { kind: 'mps-server-fault', atMs: 50_000, tenant: 0 },
    ]
    expect(await told({ policy, caps, iterations: 14, faults })).toMatchSnapshot()
  })

  it('are those of the published policy', async () => {
    const policy = new PublishedPolicy({ predictor: model, model: 'resnet50' })
    const caps = capSchedule([
      { atMs: 0, powerCapW: 200 },
      { atMs: 30_000, powerCapW: 160 },
    ])
    expect(await told({ policy, caps, iterations: 12 })).toMatchSnapshot()
  })

  it('are those of services whose load comes and goes', async () => {
    const search: Service = {
      name: 'search',
      model: 'resnet50',
      objective: { p99Ms: 60 },
      weight: 1,
      maxBatchSize: 16,
      maxQueueDelayMs: 2,
    }
    const services = [search, { ...search, name: 'photos', model: 'mobilenet_v2', weight: 2 }]
    const rates: Readonly<Record<string, number>> = { search: 150, photos: 250 }
    const policy = new ServicesPolicy({
      model,
      services,
      expectedPerS: rates,
      plan: planWithModel(model, { budgetEvaluations: 60, sharePercentStep: 10 }),
    })
    const desk = (gpu: SimulatedGpu) =>
      new SimulatedDesk(gpu, ({ name, objective: { p99Ms } }) => {
        const random = new SeededRandom(name.length)
        let timeMs = 0
        const nextMs = () => {
          const factor = timeMs > 40_000 ? 0.3 : timeMs > 20_000 && name === 'search' ? 6 : 1
          timeMs += (-Math.log(1 - random.uniform()) * 1000) / (factor * rates[name]!)
          return timeMs
        }
        return { arrivals: { nextMs }, mostQueued: 500, shedAfterMs: p99Ms }
      })
    const caps = capSchedule([{ atMs: 0, powerCapW: 190 }])
    const run = { policy, caps, iterations: 12 }
    const lines = await told({ ...run, services: (gpu) => ({ desk: desk(gpu), steps: [{ atMs: 0, services }] }) })
    expect(lines).toMatchSnapshot()
  })
})

import { type Fault, SimulatedDesk, type SimulatedGpu } from '@pctodl/gpu-sim'
import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { capSchedule, type Service } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { PctodlPolicy, planWithModel, ServicesPolicy } from '../src/index.js'
import { told } from './told-run.js'

const model = loadPerfModel('3080Ti')

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
        return { arrivals: { nextMs }, maxQueued: 500, shedAfterMs: p99Ms }
      })
    const caps = capSchedule([{ atMs: 0, powerCapW: 190 }])
    const run = { policy, caps, iterations: 12 }
    const lines = await told({ ...run, services: (gpu) => ({ desk: desk(gpu), steps: [{ atMs: 0, services }] }) })
    expect(lines).toMatchSnapshot()
  })
})

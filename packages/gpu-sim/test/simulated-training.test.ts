import { layerGraph, trainingGraph } from '@pctodl/model-zoo'
import { VirtualClock } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Execution } from '../src/execution.js'
import { SimulatedGpu, SimulatedTraining } from '../src/index.js'
import type { TrainingWorker } from '../src/simulated-training.js'

const network = trainingGraph(layerGraph('resnet50'))

/** Inference without the host's part of each image. */
const fed = { ...layerGraph('resnet50'), name: 'resnet50:fed', prefetched: true }

interface Conditions {
  readonly share?: number
  readonly limitW?: number
  readonly smClockMhz?: number
  readonly mpsPercent?: number
  readonly precision?: Execution['precision']
  /** Steps before the measured ones. */
  readonly before?: number
}

/** Seconds and watts of a step on a 3080 Ti without sensor noise. */
async function step({ share = 32, limitW, smClockMhz, mpsPercent = 100, precision, before = 20 }: Conditions = {}) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('3080Ti', { clock, seed: 4, networks: [network], ...(precision ? { precision } : {}) })
  const lease = await gpu.acquire()
  if (limitW !== undefined) await lease.setPowerLimit(limitW)
  if (smClockMhz !== undefined) await lease.lockSmClock(smClockMhz)
  const training = new SimulatedTraining([{ gpu, share, mpsPercent }], { model: network.name })
  await training.start()
  await training.further(before)
  const [from, joules] = [training.lastStepMs!, gpu.truth().energyJ]
  const fromMs = clock.now()
  await training.further(30)
  const watts = (1000 * (gpu.truth().energyJ - joules)) / (clock.now() - fromMs)
  return { timeS: (training.lastStepMs! - from) / 30_000, watts, dieC: gpu.truth().temperatureC }
}

const boards = (...shares: number[]): TrainingWorker[] => {
  const clock = new VirtualClock()
  return shares.map((share, i) => ({ gpu: new SimulatedGpu('3080Ti', { clock, seed: i, networks: [network] }), share }))
}

describe('a training tenant', () => {
  it('takes about three times as long as inference on a board that is fed as fast, and longer with more samples', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('3080Ti', { clock, seed: 4, networks: [fed] })
    const inference = new SimulatedTraining([{ gpu, share: 64 }], { model: fed.name })
    await inference.start()
    await inference.further(5)
    const from = inference.lastStepMs!
    await inference.further(20)
    const forwardS = (inference.lastStepMs! - from) / 20_000
    const [small, large] = [await step({ share: 32 }), await step({ share: 64 })]
    expect(large.timeS / forwardS).toBeGreaterThan(2)
    expect(large.timeS / forwardS).toBeLessThan(4.5)
    expect(large.timeS / small.timeS).toBeGreaterThan(1.5)
    expect(large.timeS / small.timeS).toBeLessThan(2.1)
  })

  it('obeys limit, clock and share of the SMs: less of each takes longer and draws less', async () => {
    const free = await step()
    for (const less of [{ limitW: 200 }, { smClockMhz: 900 }, { mpsPercent: 50 }]) {
      const { timeS, watts } = await step(less)
      expect(timeS, JSON.stringify(less)).toBeGreaterThan(1.1 * free.timeS)
      expect(watts, JSON.stringify(less)).toBeLessThan(0.95 * free.watts)
    }
    expect((await step({ limitW: 200 })).watts).toBeLessThan(206)
    expect((await step({ precision: 'fp32' })).timeS).toBeGreaterThan(1.5 * free.timeS)
  })

  it('warms the board up, and a warm one draws more for the same steps', async () => {
    const [cold, warm] = [await step({ smClockMhz: 1200, before: 5 }), await step({ smClockMhz: 1200, before: 4000 })]
    expect(warm.dieC).toBeGreaterThan(cold.dieC + 10)
    expect(warm.watts).toBeGreaterThan(1.01 * cold.watts)
    expect(warm.timeS).toBeCloseTo(cold.timeS, 4)
  })

  it('does the work of a process that runs batch after batch, in the same time', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('3080Ti', { clock, seed: 4, networks: [network] })
    const process = gpu.launch({ model: network.name, mpsPercent: 100, batchSize: 32 })
    await clock.sleep(process.readyAtMs + 1000)
    gpu.catchUp()
    const { batches, lastCompletionMs } = process.counters
    await clock.sleep(1000)
    gpu.catchUp()
    const batchS = (process.counters.lastCompletionMs - lastCompletionMs) / 1000 / (process.counters.batches - batches)
    expect((await step()).timeS / batchS).toBeCloseTo(1, 2)
  })

  it('fails where its share does not fit into memory, and says so', async () => {
    await expect(step({ share: 1000 })).rejects.toMatchObject({
      code: 'TRAINING_FAILED',
      message: expect.stringMatching(/^1000 samples on .*: out of memory: .*:training at batch 1000 needs \d/),
    })
  })
})

describe('training on several boards', () => {
  const timeOf = async (workers: readonly TrainingWorker[], allReduceMs = 0) => {
    // At a clock of its own choice a board that waits runs faster afterwards.
    for (const { gpu } of workers) await (await gpu.acquire()).lockSmClock(1200)
    const training = new SimulatedTraining(workers, { model: network.name, allReduceMs })
    await training.start()
    await training.further(5)
    const from = training.lastStepMs!
    await training.further(10)
    const timeMs = (training.lastStepMs! - from) / 10
    await training.stop()
    return timeMs
  }

  it('waits in each step for the slowest, and then for the gradients', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 4, max: 64 }), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 0, max: 40 }),
        async (shares, allReduceMs) => {
          const alone = await timeOf(boards(Math.max(...shares)))
          expect(await timeOf(boards(...shares), allReduceMs)).toBeCloseTo(alone + allReduceMs, 0)
        },
      ),
      { numRuns: 8 },
    )
  })

  it('does a share in micro-batches one after the other, beside boards that do theirs at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 6, max: 60 }), fc.integer({ min: 1, max: 5 }), async (share, microBatches) => {
        const parts = Array.from({ length: microBatches }, (_, i) => Math.ceil((share - i) / microBatches))
        let aloneMs = 0
        for (const part of parts) aloneMs += await timeOf(boards(part))
        const [worker, other] = boards(share, 2)
        expect(await timeOf([{ ...worker!, microBatches }, other!])).toBeCloseTo(aloneMs, 0)
      }),
      { numRuns: 6 },
    )
  })

  it('needs memory for its largest micro-batch only', async () => {
    const [worker] = boards(1000)
    await expect(timeOf([{ ...worker!, microBatches: 20 }])).resolves.toBeGreaterThan(0)
  })

  it('draws less on the board that waits', async () => {
    const workers = boards(8, 64)
    const training = new SimulatedTraining(workers, { model: network.name })
    await training.start()
    await training.further(10)
    const before = workers.map(({ gpu }) => gpu.truth().energyJ)
    await training.further(20)
    const [light, heavy] = workers.map(({ gpu }, i) => gpu.truth().energyJ - before[i]!)
    expect(light!).toBeLessThan(0.7 * heavy!)
  })

  it('refuses what is no training', async () => {
    const [a] = boards(8)
    const [b] = boards(8)
    const model = network.name
    expect(() => new SimulatedTraining([], { model })).toThrow("workers: got 'none'")
    expect(() => new SimulatedTraining([{ ...a!, share: 0 }], { model })).toThrow('workers[0].share: got 0')
    expect(() => new SimulatedTraining([{ ...a!, microBatches: 9 }], { model })).toThrow('microBatches: got 9')
    expect(() => new SimulatedTraining([a!, b!], { model })).toThrow('boards of one clock')
    expect(() => new SimulatedTraining([a!], { model, allReduceMs: -1 })).toThrow('allReduceMs: got -1')
    expect(() => new SimulatedTraining([a!], { model: 'resnet51' })).toThrow('resnet51')
    const training = new SimulatedTraining([a!], { model })
    await expect(training.further(1)).rejects.toThrow('call start()')
    await training.start()
    await expect(training.start()).rejects.toThrow('started already')
    await training.stop()
    await training.stop()
  })
})

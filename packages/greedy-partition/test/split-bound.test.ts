import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, PerfModel, type Predictor } from '@pctodl/perf-model'
import { describe, expect, it } from 'vitest'
import { exhaustive, type PartitionOptions, partition, throughputUpperBound } from '../src/index.js'

const boards = ['A100', '3080Ti'].map((board) => loadPerfModel(board))

/** A problem small enough to look at every plan, with bounds of all kinds. */
function randomProblem(random: SeededRandom, networks: readonly string[]): PartitionOptions {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.uniform() * list.length)]!
  const maybe = <T>(options: T): T | object => (random.uniform() < 0.3 ? options : {})
  const first = pick(networks)
  const second = pick(networks)
  const weights = [1, 0.1 + 3 * random.uniform()]
  return {
    models:
      first === second || random.uniform() < 0.5
        ? first
        : [first, second].map((model, i) => ({ model, weight: weights[i]! })),
    powerCapW: 60 + 290 * random.uniform(),
    sharePercentStep: pick([20, 25]),
    batchSizes: [1, 8, 64].map((size) => size * pick([1, 2, 4])),
    ...maybe({ latencySloMs: 10 + 200 * random.uniform() }),
    ...maybe({ minTenantThroughput: 400 * random.uniform() }),
    ...maybe({ maxTenants: 3 }),
    ...maybe({ memoryBytes: (2 + 10 * random.uniform()) * 1024 ** 3 }),
    ...maybe({ maxSharePercent: 50 }),
  }
}

describe('the upper bound by splitting boxes of mixes', () => {
  it('is at no time below the best plan there is', () => {
    const random = new SeededRandom(41)
    let feasible = 0
    for (let run = 0; run < 40; run++) {
      const predictor = boards[run % boards.length]!
      const options = randomProblem(random, predictor.networks)
      const best = exhaustive(predictor, options)
      if (!best.feasible) continue
      feasible++
      const maxBoxes = Math.floor(20 + 400 * random.uniform() ** 2)
      const bound = throughputUpperBound(predictor, options, { maxConfigurations: 0, maxBoxes })
      const name = `run ${run}: ${JSON.stringify(options)}, ${maxBoxes} boxes`
      expect(bound, name).toMatchObject({ exact: false })
      expect(bound!.weightedThroughput, name).toBeGreaterThanOrEqual(best.weightedThroughput)
    }
    expect(feasible).toBeGreaterThan(20)
  })

  it('holds for networks that ask nothing of the host', () => {
    const parameters = structuredClone(boards[0]!.parameters)
    for (const network of parameters.networks) network.hostPerSampleMs = 0
    const predictor = PerfModel.load(parameters)
    const options = { models: 'resnet50', powerCapW: 170, sharePercentStep: 25, batchSizes: [8, 64] }
    const best = exhaustive(predictor, options)
    if (!best.feasible) throw new Error(best.message)
    const bound = throughputUpperBound(predictor, options, { maxConfigurations: 0 })
    expect(bound?.weightedThroughput).toBeGreaterThanOrEqual(best.weightedThroughput)
    expect(bound?.weightedThroughput).toBeLessThan(1.2 * best.weightedThroughput)
  })

  it('is refused, not missing, where the bounds of a predictor are no numbers', () => {
    const model = boards[0]!
    const predictor: Predictor = {
      spec: model.spec,
      memClocksMhz: model.memClocksMhz,
      predict: (configuration) => model.predict(configuration),
      solveSmClock: (...asked) => model.solveSmClock(...asked),
      memoryBytes: (tenant) => model.memoryBytes(tenant),
      mixBounds: () => ({
        idlePowerW: () => 40,
        adds: () => 1,
        maxDrawn: () => 1,
        enter: () => {},
        maxThroughput: Number.NaN,
        minThroughput: 0,
        minLatencyMs: 0,
        minStandingW: 0,
        minJPerSample: 0,
        minHostPerSample: 0,
        minDrawn: 0,
        maxDrawnByOne: 1,
      }),
    }
    const options = { models: 'resnet50', powerCapW: 170, sharePercentStep: 50, batchSizes: [8] }
    expect(() => throughputUpperBound(predictor, options, { maxConfigurations: 0 })).toThrow('predictor.mixBounds')
  })

  it('is of weights that sums can hold', () => {
    const options = { models: [{ model: 'resnet50', weight: 1e306 }, { model: 'vgg19' }], powerCapW: 170 }
    expect(() => throughputUpperBound(boards[0]!, options)).toThrow('models[0].weight')
    for (const weight of [1e-100, 1e100]) {
      const both = {
        models: [{ model: 'resnet50', weight }, { model: 'vgg19' }],
        powerCapW: 170,
        sharePercentStep: 50,
        batchSizes: [8, 64],
      }
      const best = exhaustive(boards[0]!, both)
      if (!best.feasible) throw new Error(best.message)
      const bound = throughputUpperBound(boards[0]!, both, { maxConfigurations: 0, maxBoxes: 50 })
      expect(bound?.weightedThroughput).toBeGreaterThanOrEqual(best.weightedThroughput)
    }
  })

  it('certifies plans at a share step of 5 %, the closer the more boxes there are', () => {
    const cases = [
      ['A100', 'resnet50', 170],
      ['3080Ti', 'vgg19', 250],
    ] as const
    for (const [board, models, powerCapW] of cases) {
      const predictor = loadPerfModel(board)
      const plan = partition(predictor, { models, powerCapW, budgetEvaluations: 500 })
      if (!plan.feasible) throw new Error(plan.message)
      const above = [100, 200, 600].map((maxBoxes) => {
        const bound = throughputUpperBound(predictor, { models, powerCapW }, { maxBoxes })!
        return bound.weightedThroughput / plan.weightedThroughput - 1
      })
      expect(above[1]!).toBeLessThanOrEqual(above[0]!)
      expect(above[2]!).toBeLessThanOrEqual(above[1]!)
      expect(above[2]!).toBeGreaterThanOrEqual(0)
      expect(above[2]!, `${models} on ${board}`).toBeLessThan(0.06)
    }
  })

  it('ends where it is low enough, and where the time is up', () => {
    const options = { models: 'resnet50', powerCapW: 170 }
    const predictor = boards[0]!
    const enough = 6600
    const early = throughputUpperBound(predictor, options, { enough })!.weightedThroughput
    expect(early).toBeLessThan(1.01 * enough)
    expect(early).toBeGreaterThan(throughputUpperBound(predictor, options)!.weightedThroughput)
    let ms = 0
    const hurried = { ...options, timeBudgetMs: 5, now: () => ms++ }
    expect(throughputUpperBound(predictor, hurried)!.weightedThroughput).toBeGreaterThan(early)
    expect(ms).toBeLessThan(10)
  })

  it('refuses limits that are none', () => {
    const options = { models: 'resnet50', powerCapW: 170 }
    expect(() => throughputUpperBound(boards[0]!, options, { maxBoxes: Number.NaN })).toThrow('limits.maxBoxes')
    expect(() => throughputUpperBound(boards[0]!, options, { boxes: 3 } as never)).toThrow('limits.boxes')
  })
})

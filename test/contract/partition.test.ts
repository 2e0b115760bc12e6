import {
  countCompositions,
  exhaustive,
  lowestFeasibleCap,
  type PartitionOptions,
  type PartitionResult,
  partition,
} from '@pctodl/greedy-partition'
import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, type Predictor } from '@pctodl/perf-model'
import { smClocksAt, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'

const boards = { A100: loadPerfModel('A100'), '3080Ti': loadPerfModel('3080Ti') }
type Board = keyof typeof boards

/** Options of which all are given, so that nothing here knows a default. */
interface Question {
  readonly board: Board
  readonly networks: readonly {
    readonly model: string
    readonly weight: number
    readonly latencySloMs?: number
    readonly minTenantThroughput?: number
  }[]
  readonly powerCapW: number
  readonly powerMarginW: number
  readonly step: number
  readonly batchSizes: readonly number[]
  readonly maxTenants: number
  readonly maxSharePercent: number
  readonly memClocksMhz: readonly number[]
  readonly memoryBytes: number
  readonly latencyPercentile: 'mean' | 'p99'
}

function optionsOf({ networks, step, board: _, ...others }: Question): PartitionOptions {
  return { ...others, models: networks, sharePercentStep: step, maxDistance: Number.POSITIVE_INFINITY }
}

/** A batch may have at most 6.4 samples per percent of the share; where none does, the smallest is taken. */
function batchesFor(mpsPercent: number, batchSizes: readonly number[]): readonly number[] {
  const fitting = batchSizes.filter((size) => size <= 6.4 * mpsPercent + 1e-9)
  return fitting.length > 0 ? fitting : [Math.min(...batchSizes)]
}

/** Every multiset of tenants, by plain recursion. */
function* everyMix(question: Question): Generator<Tenant[]> {
  const kinds: Tenant[] = []
  for (const { model } of question.networks) {
    for (let mpsPercent = question.step; mpsPercent <= question.maxSharePercent; mpsPercent += question.step) {
      for (const batchSize of batchesFor(mpsPercent, question.batchSizes)) kinds.push({ model, mpsPercent, batchSize })
    }
  }
  function* from(first: number, mix: Tenant[], left: number): Generator<Tenant[]> {
    if (mix.length > 0 && question.networks.every(({ model }) => mix.some((tenant) => tenant.model === model)))
      yield mix
    if (mix.length === question.maxTenants) return
    for (let i = first; i < kinds.length; i++) {
      if (kinds[i]!.mpsPercent <= left) yield* from(i, [...mix, kinds[i]!], left - kinds[i]!.mpsPercent)
    }
  }
  yield* from(0, [], 100)
}

/** Highest weighted throughput over all mixes, memory clocks and SM clocks, and the lowest power of one that keeps all bounds. */
function bruteForce(question: Question, predictor: Predictor) {
  let best = 0
  let lowestW = Number.POSITIVE_INFINITY
  let mixes = 0
  for (const tenants of everyMix(question)) {
    mixes++
    if (tenants.reduce((sum, tenant) => sum + predictor.memoryBytes(tenant), 0) > question.memoryBytes) continue
    for (const memClockMhz of question.memClocksMhz) {
      // Power and throughput rise with the clock, so from the top down the first that keeps the cap is the best.
      for (const smClockMhz of [...smClocksAt(predictor.spec, memClockMhz)!].reverse()) {
        const { powerW, tenants: each } = predictor.predict({ tenants, memClockMhz, smClockMhz })
        const kept = each.every(({ throughput, latencyMs, p99LatencyMs }, i) => {
          const { latencySloMs = Infinity, minTenantThroughput = 0 } = question.networks.find(
            ({ model }) => model === tenants[i]!.model,
          )!
          const tailMs = question.latencyPercentile === 'p99' ? p99LatencyMs! : latencyMs
          return tailMs <= latencySloMs && throughput >= minTenantThroughput
        })
        // Lower clocks are slower still.
        if (!kept) break
        lowestW = Math.min(lowestW, powerW)
        if (powerW > question.powerCapW - question.powerMarginW) continue
        const weight = (i: number) => question.networks.find(({ model }) => model === tenants[i]!.model)!.weight
        best = Math.max(
          best,
          each.reduce((sum, { throughput }, i) => sum + weight(i) * throughput, 0),
        )
        if (lowestW < question.powerCapW - question.powerMarginW - 40) break
      }
    }
  }
  return { best, lowestW, mixes }
}

/** Small enough to be looked at as a whole, each unlike the others. */
function questions(count: number, seed: number): Question[] {
  const random = new SeededRandom(seed)
  const one = <T>(list: readonly T[]): T => list[random.integer(list.length)]!
  return Array.from({ length: count }, (_, i): Question => {
    const board: Board = i % 2 === 0 ? 'A100' : '3080Ti'
    const { spec, networks, memClocksMhz } = boards[board]
    const several = i % 3 === 2
    const { min, max } = spec.powerLimitW
    return {
      board,
      networks: [...new Set(Array.from({ length: several ? 2 : 1 }, () => one(networks)))].map((model) => ({
        model,
        weight: several ? 0.5 + 2 * random.uniform() : 1,
        ...(i % 4 === 1 ? { latencySloMs: 20 + 200 * random.uniform() } : {}),
        ...(i % 5 === 3 ? { minTenantThroughput: 30 + 150 * random.uniform() } : {}),
      })),
      powerCapW: min + (max - min) * (0.1 + 0.8 * random.uniform()),
      powerMarginW: i % 3 === 0 ? 10 * random.uniform() : 0,
      step: several ? 50 : one([25, 34]),
      batchSizes: several
        ? [4, 32]
        : one([
            [8, 64],
            [4, 128, 32],
            [1, 16],
          ]),
      maxTenants: one([2, 3, 4]),
      maxSharePercent: one([100, 100, 50]),
      memClocksMhz: i % 2 === 0 ? memClocksMhz : memClocksMhz.slice(0, 2),
      memoryBytes: (i % 7 === 5 ? 0.12 : 0.9) * spec.memoryBytes,
      latencyPercentile: one(['mean', 'p99']),
    }
  })
}

const found = (result: PartitionResult) => (result.feasible ? result.weightedThroughput : 0)

describe('a partition', () => {
  const asked = questions(24, 90210).map((question) => ({
    question,
    predictor: boards[question.board],
    truth: bruteForce(question, boards[question.board]),
    result: partition(boards[question.board], optionsOf(question)),
  }))

  it('is the best there is, where all can be looked at', () => {
    for (const { question, truth, result } of asked) {
      expect(found(result), JSON.stringify(question)).toBeLessThanOrEqual(truth.best * (1 + 1e-9))
      expect(found(result), JSON.stringify(question)).toBeGreaterThanOrEqual(truth.best * 0.995)
    }
    const optimal = asked.filter(({ truth, result }) => found(result) >= truth.best * (1 - 1e-9))
    expect(optimal.length / asked.length).toBeGreaterThan(0.85)
    expect(asked.filter(({ result }) => result.feasible).length).toBeGreaterThan(15)
  })

  it('is exactly the best where it looks at all', () => {
    for (const { question, predictor, truth } of asked) {
      const options = optionsOf(question)
      expect(found(exhaustive(predictor, options))).toBeCloseTo(truth.best, 6)
      const { powerCapW: _, ...any } = options
      // Of several networks also those mixes count that leave one out.
      if (question.networks.length === 1) expect(countCompositions(predictor, any)).toBe(truth.mixes)
    }
  })

  it('says so where there is none, and which cap would do', () => {
    for (const { question, predictor, truth, result } of asked) {
      const { powerCapW: _, ...any } = optionsOf(question)
      const lowest = lowestFeasibleCap(predictor, any)
      const needed = truth.lowestW + question.powerMarginW
      if (truth.best === 0) {
        expect(result).toMatchObject({ feasible: false })
        if (result.feasible) continue
        const { reason } = result
        if (truth.lowestW < Number.POSITIVE_INFINITY) expect(reason).toBe('power-cap')
        else expect(['memory', 'latency-slo', 'min-throughput']).toContain(reason)
        expect(result.lowestFeasibleCapW).toBe(lowest)
        expect(result.message).toMatch(/\d/)
      }
      if (lowest === null) {
        expect(needed).toBeGreaterThan(predictor.spec.powerLimitW.max)
        continue
      }
      if (question.networks.length === 1) expect(lowest).toBeLessThanOrEqual(needed + 0.002)
      const at = (powerCapW: number) => partition(predictor, { ...any, powerCapW })
      expect(at(lowest)).toMatchObject({ feasible: true })
      if (question.networks.length === 1)
        expect(at(lowest - 0.01)).toMatchObject({ feasible: false, reason: 'power-cap' })
    }
  })

  it('is what the predictor says of its configuration, within every bound', () => {
    for (const { question, predictor, result } of asked) {
      if (!result.feasible) continue
      const { configuration, prediction, marginW, weightedThroughput } = result
      expect(JSON.stringify(predictor.predict(configuration))).toBe(JSON.stringify(prediction))
      expect(marginW).toBeCloseTo(question.powerCapW - prediction.powerW, 9)
      expect(marginW).toBeGreaterThanOrEqual(question.powerMarginW)
      const { tenants, smClockMhz, memClockMhz } = configuration
      expect(smClocksAt(predictor.spec, memClockMhz)).toContain(smClockMhz)
      expect(question.memClocksMhz).toContain(memClockMhz)
      expect(tenants.length).toBeLessThanOrEqual(question.maxTenants)
      expect(tenants.reduce((sum, { mpsPercent }) => sum + mpsPercent, 0)).toBeLessThanOrEqual(100)
      let worth = 0
      tenants.forEach((tenant, i) => {
        const { weight } = question.networks.find(({ model }) => model === tenant.model)!
        worth += weight * prediction.tenants[i]!.throughput
        expect(tenant.mpsPercent % question.step).toBe(0)
        expect(tenant.mpsPercent).toBeLessThanOrEqual(question.maxSharePercent)
        expect(question.batchSizes).toContain(tenant.batchSize)
      })
      expect(weightedThroughput).toBeCloseTo(worth, 6)
      expect(result.evaluations).toBeGreaterThan(0)
      // Its steps lead to it, and each says what it leads to.
      expect(result.steps.at(-1)!.configuration).toEqual(configuration)
      for (const step of result.steps) {
        const said = predictor.predict(step.configuration)
        expect([step.throughput, step.powerW]).toEqual([said.throughput, said.powerW])
      }
    }
  })

  it('does not depend on the order of networks, memory clocks and batch sizes', () => {
    for (const { question, predictor, result } of asked) {
      const turned = partition(predictor, {
        ...optionsOf(question),
        models: question.networks.toReversed(),
        memClocksMhz: question.memClocksMhz.toReversed(),
        batchSizes: question.batchSizes.toReversed(),
      })
      expect(turned).toEqual(result)
    }
  })
})

describe('a partition of a whole board', () => {
  const cases = [
    ['A100', 'resnet50', 200],
    ['A100', 'mnasnet1_0', 120],
    ['3080Ti', 'vgg19', 250],
    ['3080Ti', 'densenet201', 160],
    ['3080Ti', 'mobilenet_v2', 340],
  ] as const

  it.each(cases)('of the %s, %s at %i W, is no less than equal shares', (board, model, powerCapW) => {
    const predictor = boards[board]
    const options = { models: model, powerCapW }
    const result = partition(predictor, options)
    if (!result.feasible) throw new Error(result.message)
    for (const [count, batchSize] of [
      [1, 32],
      [2, 32],
      [3, 64],
      [4, 16],
      [5, 32],
      [10, 16],
    ] as const) {
      const tenants = Array.from({ length: count }, () => ({
        model,
        mpsPercent: 5 * Math.floor(20 / count),
        batchSize,
      }))
      for (const memClockMhz of predictor.memClocksMhz) {
        const smClockMhz = predictor.solveSmClock(tenants, memClockMhz, powerCapW)
        if (smClockMhz === undefined) continue
        const { throughput } = predictor.predict({ tenants, smClockMhz, memClockMhz })
        expect(result.weightedThroughput).toBeGreaterThanOrEqual(throughput)
      }
    }
    // Every watt of the cap, to one state of the clock.
    const { configuration } = result
    const clocks = smClocksAt(predictor.spec, configuration.memClockMhz)!
    const next = clocks[clocks.indexOf(configuration.smClockMhz) + 1]
    if (next) expect(predictor.predict({ ...configuration, smClockMhz: next }).powerW).toBeGreaterThan(powerCapW)
    const greedy = partition(predictor, { ...options, improve: false })
    expect(found(greedy)).toBeLessThanOrEqual(found(result))
    expect(found(greedy)).toBeGreaterThan(0.8 * found(result))
    expect(greedy).toMatchObject({ stoppedBecause: 'greedy-only' })
  })

  it('does more with more watts, more memory, more tenants, and looser bounds', () => {
    const predictor = boards['3080Ti']
    const at = (options: Partial<PartitionOptions>) =>
      found(partition(predictor, { models: 'resnet50', powerCapW: 180, sharePercentStep: 10, ...options }))
    const rises = (values: readonly number[]) => {
      for (let i = 1; i < values.length; i++) expect(values[i]).toBeGreaterThanOrEqual(values[i - 1]! * 0.995)
      expect(values.at(-1)).toBeGreaterThan(values[0]!)
    }
    rises([100, 130, 160, 200, 250, 320].map((powerCapW) => at({ powerCapW })))
    rises([1.5e9, 2e9, 3e9, 5e9, 1e10].map((memoryBytes) => at({ memoryBytes })))
    rises([1, 2, 4, 8].map((maxTenants) => at({ maxTenants })))
    rises([15, 20, 30, 60, 200].map((latencySloMs) => at({ latencySloMs })))
    rises([40, 20, 10, 0].map((powerMarginW) => at({ powerMarginW })))
    rises([4, 8, 32, 128].map((maxBatchSize) => at({ maxBatchSize })))
  })

  it('holds the highest limit that the board takes in the place of a higher cap, and says so', () => {
    const { max } = boards['3080Ti'].spec.powerLimitW
    const result = partition(boards['3080Ti'], { models: 'vgg19', powerCapW: max + 100, sharePercentStep: 20 })
    expect(result).toMatchObject({ feasible: true, boardLimitW: max })
    if (result.feasible) expect(result.prediction.powerW).toBeLessThanOrEqual(max)
  })

  it('keeps to the chance that it is given of exceeding the cap', () => {
    const options = { models: 'resnet50', powerCapW: 180, sharePercentStep: 10 }
    const [mean, ...safe] = [undefined, 0.2, 0.02, 0.001].map((capExceedanceProbability) =>
      partition(boards['3080Ti'], { ...options, ...(capExceedanceProbability ? { capExceedanceProbability } : {}) }),
    )
    let before = mean!
    for (const [i, result] of safe.entries()) {
      if (!result.feasible || !before.feasible) throw new Error('feasible')
      expect(result.prediction.powerW).toBeLessThan(before.prediction.powerW)
      expect(result.capExceedanceProbability).toBeLessThanOrEqual([0.2, 0.02, 0.001][i]!)
      const upper = (probability: number) => boards['3080Ti'].upperPowerW(result.configuration, probability)
      expect(upper([0.2, 0.02, 0.001][i]!)).toBeLessThanOrEqual(180)
      expect(upper([0.2, 0.02, 0.001][i]! / 50)).toBeGreaterThan(170)
      before = result
    }
  })

  it('ends when its budget or its time does, with what it has', () => {
    const options = { models: 'resnet50', powerCapW: 180 }
    const brief = partition(boards.A100, { ...options, budgetEvaluations: 300 })
    expect(brief).toMatchObject({ feasible: true, stoppedBecause: 'evaluation-budget' })
    expect(brief.evaluations).toBeLessThanOrEqual(300)
    let timeMs = 0
    const timed = partition(boards.A100, { ...options, now: () => timeMs++, timeBudgetMs: 300 })
    expect(timed).toMatchObject({ feasible: true, stoppedBecause: 'time-budget' })
    expect(partition(boards.A100, { ...options, sharePercentStep: 50 })).toMatchObject({
      stoppedBecause: 'no-improving-move',
    })
    expect(found(brief)).toBeGreaterThan(0.7 * found(timed))
  })

  it('stays within what was measured, where asked to', () => {
    const at = (maxDistance: number) =>
      partition(boards['3080Ti'], { models: 'vgg19', powerCapW: 120, sharePercentStep: 10, maxDistance })
    const near = at(1)
    if (near.feasible) expect(near.prediction.distance).toBeLessThanOrEqual(1)
    else expect(near.reason).toBe('distance')
    expect(found(at(1))).toBeLessThanOrEqual(found(at(Number.POSITIVE_INFINITY)))
  })

  it.each([
    [{ powerCapW: 0 }, /powerCapW: got 0/],
    [{ powerCapW: Number.NaN }, /powerCapW/],
    [{ powerMarginW: 200 }, /powerMarginW: got 200/],
    [{ powerMarginW: -1 }, /powerMarginW/],
    [{ sharePercentStep: 0 }, /sharePercentStep: got 0/],
    [{ sharePercentStep: 2.5 }, /sharePercentStep/],
    [{ maxSharePercent: 101 }, /maxSharePercent/],
    [{ maxSharePercent: 4 }, /maxSharePercent: got 4/],
    [{ batchSizes: [0] }, /batchSizes\[0\]/],
    [{ batchSizes: [8], maxBatchSize: 4 }, /maxBatchSize/],
    [{ maxTenants: 49 }, /maxTenants: got 49/],
    [{ latencySloMs: 0 }, /latencySloMs/],
    [{ latencyPercentile: 'p50' as 'p99' }, /latencyPercentile: got 'p50'/],
    [{ minTenantThroughput: -1 }, /minTenantThroughput/],
    [{ memClocksMhz: [123] }, /memClocksMhz/],
    [{ memoryBytes: 1e15 }, /memoryBytes/],
    [{ maxDistance: 0.5 }, /maxDistance/],
    [{ budgetEvaluations: 0 }, /budgetEvaluations/],
    [{ timeBudgetMs: 5 }, /now/],
    [{ capExceedanceProbability: 0.6 }, /capExceedanceProbability/],
    [{ seed: -1 }, /seed/],
    [{ models: [] }, /models/],
    [{ models: [{ model: 'resnet50', weight: 0 }] }, /models\[0\]\.weight/],
    [{ models: [{ model: 'resnet50' }, { model: 'resnet50' }] }, /models\[1\]\.model/],
    [{ models: 'nobody' }, /nobody/],
    [{ shareStep: 5 } as Partial<PartitionOptions>, /shareStep/],
  ] satisfies [Partial<PartitionOptions>, RegExp][])('refuses %o by name', (wrong, message) => {
    expect(() => partition(boards.A100, { models: 'resnet50', powerCapW: 180, ...wrong })).toThrow(message)
  })
})

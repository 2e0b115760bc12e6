import { loadPerfModel, type Predictor } from '@pctodl/perf-model'
import { gpuSpecs } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import {
  type FeasiblePartition,
  type InfeasiblePartition,
  lowestFeasibleCap,
  type PartitionOptions,
  partition,
} from '../src/index.js'
import { SyntheticPredictor } from './synthetic-predictor.js'

const coarse = { sharePercentStep: 20, budgetEvaluations: 300 }

describe("a cap above the board's highest limit", () => {
  const model = loadPerfModel('3080Ti')
  const maxW = model.spec.powerLimitW.max
  const asked = { ...coarse, models: 'vgg19', powerCapW: 2 * maxW }

  it('is that limit, and the plan says so', () => {
    const clamped = partition(model, asked) as FeasiblePartition
    const { boardLimitW, ...rest } = clamped
    expect(boardLimitW).toBe(maxW)
    expect(rest).toEqual(partition(model, { ...asked, powerCapW: maxW }))
    expect(rest).not.toHaveProperty('boardLimitW')
    expect(clamped.prediction.powerW).toBeLessThanOrEqual(maxW)
    expect(clamped.marginW).toBeCloseTo(maxW - clamped.prediction.powerW, 9)
  })

  it('is what a margin is taken from', () => {
    const { prediction } = partition(model, { ...asked, powerMarginW: 30 }) as FeasiblePartition
    expect(prediction.powerW).toBeLessThanOrEqual(maxW - 30)
    expect(() => partition(model, { ...asked, powerMarginW: maxW })).toThrow('powerMarginW')
  })

  it('does not help where even the least power is above it', () => {
    const { spec } = model
    const weak = new SyntheticPredictor({ ...gpuSpecs['3080Ti']!, powerLimitW: { ...spec.powerLimitW, max: 20 } })
    const result = partition(weak, { ...coarse, models: 'middle', powerCapW: 500 }) as InfeasiblePartition
    expect(result).toMatchObject({ feasible: false, reason: 'power-cap', lowestFeasibleCapW: null, boardLimitW: 20 })
    expect(result.message).toContain("the board's highest limit is 20 W")
    expect(lowestFeasibleCap(weak, { ...coarse, models: 'middle' })).toBeNull()
  })
})

describe('device memory', () => {
  const model = loadPerfModel('3080Ti')

  it('is at most what the board has', () => {
    const memoryBytes = model.spec.memoryBytes + 1
    expect(() => partition(model, { ...coarse, models: 'vgg19', powerCapW: 300, memoryBytes })).toThrow('memoryBytes')
  })

  it('is left for what uses it without tenants', () => {
    const spec = gpuSpecs['3080Ti']!
    const board = new SyntheticPredictor(spec)
    const tenant = { model: 'middle', mpsPercent: 100, batchSize: 4 }
    // Memory for one and a half tenants.
    const reserved = (bytes: number): Predictor => ({
      spec,
      memClocksMhz: board.memClocksMhz,
      predict: (configuration) => board.predict(configuration),
      solveSmClock: (tenants, memClockMhz, capW) => board.solveSmClock(tenants, memClockMhz, capW),
      memoryBytes: (one) => board.memoryBytes(one),
      reservedMemoryBytes: bytes,
    })
    const options = { models: 'middle', powerCapW: 300, sharePercentStep: 50, batchSizes: [4] }
    const inUse = spec.memoryBytes - Math.floor(1.5 * board.memoryBytes(tenant))
    const tight = partition(reserved(inUse), options) as FeasiblePartition
    expect(tight.configuration.tenants).toHaveLength(1)
    expect((partition(reserved(0), options) as FeasiblePartition).configuration.tenants).toHaveLength(2)
    expect(partition(reserved(spec.memoryBytes), options)).toMatchObject({ feasible: false, reason: 'memory' })
  })
})

describe('the domain of a plan', () => {
  it('is what the predictor says of it', () => {
    const model = loadPerfModel('A100')
    const inside = partition(model, { ...coarse, models: 'resnet50', powerCapW: 250 }) as FeasiblePartition
    expect(inside.domain).toEqual(model.domain(inside.configuration))
  })

  it('is where the search stays, unless it is told how far it may go', () => {
    const model = loadPerfModel('A100')
    // Of another fit the same rows are too far away: only the single tenant of the whole board is as well known as they are.
    const asked: number[] = []
    const distant: Predictor = {
      spec: model.spec,
      memClocksMhz: model.memClocksMhz,
      solveSmClock: (...given) => model.solveSmClock(...given),
      memoryBytes: (one) => model.memoryBytes(one),
      predict(configuration) {
        const distance = configuration.tenants.length
        asked.push(distance)
        return { ...model.predict(configuration), distance }
      },
    }
    const options = { ...coarse, models: 'resnet50', powerCapW: 250 }
    const near = partition(distant, options) as FeasiblePartition
    expect(near.configuration.tenants.length).toBeLessThanOrEqual(2)
    expect(Math.max(...asked)).toBeGreaterThan(2)
    const far = partition(distant, { ...options, maxDistance: Infinity }) as FeasiblePartition
    expect(far.configuration.tenants.length).toBeGreaterThan(2)
    expect(() => partition(distant, { ...options, maxDistance: 0.5 })).toThrow(/maxDistance/)
  })

  it('says so where nothing else is left', () => {
    const model = loadPerfModel('3080Ti')
    const unknown: Predictor = {
      spec: model.spec,
      memClocksMhz: model.memClocksMhz,
      solveSmClock: (...given) => model.solveSmClock(...given),
      memoryBytes: (one) => model.memoryBytes(one),
      predict: (configuration) => ({ ...model.predict(configuration), distance: 3 }),
    }
    const options = { ...coarse, models: 'resnet50', powerCapW: 250 }
    const result = partition(unknown, options)
    expect(result).toMatchObject({ feasible: false, reason: 'distance' })
    expect((result as { message: string }).message).toMatch(/further than 2 .* measure some rows/)
    expect(partition(unknown, { ...options, maxDistance: 3 }).feasible).toBe(true)
    // No cap would help.
    expect(partition(unknown, { ...options, powerCapW: 20 })).toMatchObject({
      reason: 'distance',
      lowestFeasibleCapW: null,
    })
  })

  it('holds for the lowest feasible cap, too', () => {
    for (const board of ['A100', '3080Ti']) {
      const model = loadPerfModel(board)
      for (const models of model.networks) {
        const options = { ...coarse, models, maxDistance: 1, improve: false }
        const powerCapW = lowestFeasibleCap(model, options)
        if (powerCapW === null) continue
        expect(partition(model, { ...options, powerCapW }).feasible, `${models} on the ${board}`).toBe(true)
      }
    }
  })

  it('is left out where the predictor knows none', () => {
    const result = partition(new SyntheticPredictor(gpuSpecs['A100']!), { ...coarse, models: 'middle', powerCapW: 200 })
    expect(result).not.toHaveProperty('domain')
  })
})

it('an option that nothing reads is a mistake', () => {
  const misspelt = { models: 'resnet50', powerCapW: 200, maxTenant: 3 } as PartitionOptions
  expect(() => partition(loadPerfModel('A100'), misspelt)).toThrow('options.maxTenant')
})

it('the clock that the predictor solves costs one prediction where it keeps the limit', () => {
  const board = new SyntheticPredictor(gpuSpecs['A100']!)
  let solved = 0
  let predicted = 0
  const counting: Predictor = {
    spec: board.spec,
    memClocksMhz: board.memClocksMhz,
    solveSmClock: (tenants, memClockMhz, capW) => {
      solved++
      return board.solveSmClock(tenants, memClockMhz, capW)
    },
    predict: (configuration) => {
      predicted++
      return board.predict(configuration)
    },
    memoryBytes: (tenant) => board.memoryBytes(tenant),
  }
  const { evaluations } = partition(counting, { ...coarse, models: 'middle', powerCapW: 390 })
  expect(evaluations).toBeGreaterThan(10)
  expect(solved).toBe(evaluations)
  // The result is predicted once more.
  expect(predicted).toBe(evaluations + 1)
})

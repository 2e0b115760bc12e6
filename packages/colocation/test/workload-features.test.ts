import { describe, expect, it } from 'vitest'
import { scalingOf, standardize } from '../src/model/standardize.js'
import { featuresOf, matern, pointsScaledBy, workloadKernels } from '../src/model/workload-kernels.js'
import { syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(4)

describe('the features of a workload', () => {
  it('are logarithms that none has too little for, and parts of one', () => {
    const nothing = {
      ...workloads[0]!,
      threads: 0,
      registers: 0,
      smThroughputPercent: 50,
      dramThroughputPercent: 20,
      memoryThroughputPercent: 10,
      smUtilPercent: 80,
      memUtilPercent: 40,
      memoryGib: 0,
      exclusiveThroughput: 24,
      batchSize: 8,
    }
    const fixed = [0, 0, 0.5, 0.2, 0.1, Math.log(24), 0.8, 0.4, Math.log(0.1), Math.log(3)]
    expect(featuresOf({ ...nothing, training: false })).toEqual([...fixed, 0])
    expect(featuresOf({ ...nothing, training: true })).toEqual([...fixed, 1])
  })

  it('are measured in deviations from the mean; what never varies is nothing', () => {
    const scaling = scalingOf([
      [1, 7],
      [3, 7],
      [8, 7],
    ])
    expect([...standardize([4, 7], scaling)]).toEqual([0, 0])
    expect(standardize([4 + Math.sqrt(13), 9], scaling)[0]).toBeCloseTo(1, 12)
    expect(standardize([4 + Math.sqrt(13), 9], scaling)[1]).toBe(0)
  })

  it('make workloads alike: all to themselves, kin by their network, none to another', () => {
    const point = pointsScaledBy(workloads)
    const kernels = (a: number, b: number) =>
      (['rough', 'smooth', 'linear', 'kin', 'identity'] as const).map((name) =>
        workloadKernels[name](point(workloads[a]!), point(workloads[b]!)),
      )
    expect(kernels(2, 2)).toEqual([1, 1, expect.any(Number), 1, 1])
    const [rough, smooth, linear, kin, identity] = kernels(0, 3)
    expect([kin, identity]).toEqual([0, 0])
    const [a, b] = [0, 3].map((i) => [...point(workloads[i!]!).features])
    const squares = a!.map((value, j) => (value - b![j]!) ** 2)
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
    const distance = Math.sqrt(sum(squares) / 11)
    expect(rough).toBeCloseTo(matern(2 * distance), 12)
    expect(smooth).toBeCloseTo(matern(distance / 2), 12)
    expect(linear).toBeCloseTo(sum(a!.map((value, j) => value * b![j]!)) / 11, 12)
    expect(matern(0)).toBe(1)
    expect(matern(1)).toBeCloseTo((1 + Math.sqrt(3)) * Math.exp(-Math.sqrt(3)), 12)
  })
})

import { simulateSteadyState } from '@pctodl/gpu-sim'
import { mean } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { describe, expect, it } from 'vitest'
import { crowdOf, crowds } from './random-configurations.js'

/**
 * Most that a prediction may be off what the board does, as a root of mean squares: logarithms of throughput and power, and points of memory
 * utilisation. An eighth above what it was.
 */
const most: Readonly<Record<string, readonly (readonly number[])[]>> = {
  A100: [
    [0.025, 0.0154, 3.7],
    [0.019, 0.0107, 5.2],
    [0.022, 0.009, 3],
    [0.0292, 0.0146, 4.4],
  ],
  '3080Ti': [
    [0.0282, 0.0121, 3.7],
    [0.0297, 0.0099, 5.9],
    [0.0324, 0.0095, 4],
    [0.0435, 0.0179, 6.9],
  ],
}

describe.each(Object.keys(most))('the predictor of the %s is as right as it was', (board) => {
  it.each(crowds.map((kind, i) => [kind, most[board]![i]!] as const))('of tenants %s', (kind, bounds) => {
    const model = loadPerfModel(board)
    const simulate = simulateSteadyState(board, { powerLimitW: 1e9 })
    const errors = crowdOf(model, kind, 60, 77).map((configuration) => {
      const truth = simulate(configuration)
      const { throughput, powerW, memUtilPercent } = model.predict(configuration)
      const [speed, power] = [Math.log(throughput / truth.throughput), Math.log(powerW / truth.powerW)]
      return [speed, power, memUtilPercent - truth.memUtilPercent]
    })
    const names = ['throughput', 'power', 'memory utilisation']
    for (const [i, name] of names.entries()) {
      const rms = Math.sqrt(mean(errors.map((each) => each[i]! ** 2)))
      expect(rms, name).toBeLessThan(bounds[i]!)
    }
  })
})

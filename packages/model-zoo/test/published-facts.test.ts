import { type NetworkName, networkNames } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { buildNetwork, operatorWork } from '../src/index.js'
import { networkFacts } from './facts.js'

const learnedParameters: Record<NetworkName, number> = {
  mnasnet1_0: 4_383_312,
  densenet201: 20_013_928,
  efficientnet_v2_m: 54_139_356,
  maxvit_t: 30_919_624,
  mobilenet_v2: 3_504_872,
  resnet50: 25_557_032,
  vgg19: 143_667_240,
}

/**
 * An independent count of the same networks at 224 x 224, by framework calls: operators, GFLOP (two per multiply-accumulate),
 * activation elements read and written in millions, and the part of those in convolutions, linear layers and matrix products.
 */
const independentCount: Record<NetworkName, [operators: number, gflop: number, elements: number, weighted: number]> = {
  densenet201: [710, 8.58, 170.5, 31.8],
  efficientnet_v2_m: [734, 10.72, 139.6, 39.3],
  // Elements: 212.1 here, 3 % less. The weighted layers agree to 0.1 %, so the difference is in how attention's layout copies
  // and position bias are booked. Here: the bias counts as weights (0.4 M elements, written and read once per batch, four
  // passes), and the copies are those that the profiler shows of torch 1.13 at batch 2: two hidden in the layer norms of
  // each grid layer. (At 7 x 7 the profiler shows 8 partitions as views and 4 more hidden copies of the same size instead.)
  maxvit_t: [666, 11.12, 218.5, 71.0],
  mnasnet1_0: [151, 0.63, 32.5, 11.0],
  mobilenet_v2: [151, 0.6, 39.7, 13.4],
  resnet50: [174, 8.18, 80.9, 21.8],
  vgg19: [43, 39.26, 62.7, 25.3],
}

const weightedClasses = ['conv', 'pointwise', 'depthwise', 'linear', 'attention']

describe.each(networkNames)('%s', (name) => {
  const graph = buildNetwork(name)
  const [operators, gflop, elements, weighted] = independentCount[name]

  it('has the published number of parameters', () => {
    expect(networkFacts(name).parameters).toBe(learnedParameters[name])
  })

  it('agrees with an independent count of operators, FLOPs and traffic', () => {
    const facts = networkFacts(name)
    expect(facts.operators).toBe(operators)
    expect(Math.abs(facts.gflops / gflop - 1)).toBeLessThan(0.01)
    const tolerance = name === 'maxvit_t' ? 0.03 : 0.002
    expect(Math.abs(facts.activationElements / 1e6 / elements - 1)).toBeLessThan(tolerance)
    const inWeighted = operatorWork(graph)
      .filter((operator) => weightedClasses.includes(operator.operatorClass))
      .reduce((sum, operator) => sum + operator.inputElements + operator.outputElements, 0)
    expect(Math.abs(inWeighted / 1e6 / weighted - 1)).toBeLessThan(0.005)
  })
})

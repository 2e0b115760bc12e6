import { InvalidInputError, type NetworkName, networkNames } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildNetwork, type OperatorClass, type OperatorWork, operatorWork } from '../src/index.js'

function workOf(name: string, id: string): OperatorWork {
  const found = operatorWork(buildNetwork(name)).find((operator) => operator.name === id)
  if (found === undefined) throw new Error(`${name} has no operator '${id}'`)
  return found
}

function countClasses(name: string): Partial<Record<OperatorClass, number>> {
  const counts: Partial<Record<OperatorClass, number>> = {}
  for (const { operatorClass } of operatorWork(buildNetwork(name))) {
    counts[operatorClass] = (counts[operatorClass] ?? 0) + 1
  }
  return counts
}

describe('operators computed by hand', () => {
  it('dense convolution: 2 x outputs x input channels x kernel area', () => {
    expect(workOf('resnet50', 'conv1')).toEqual({
      name: 'conv1',
      operatorClass: 'conv',
      flops: 2 * (64 * 112 * 112) * 3 * 49,
      inputElements: 3 * 224 * 224,
      outputElements: 64 * 112 * 112,
      weightElements: 64 * 3 * 49,
    })
  })

  it('depthwise convolution: one input channel per output channel', () => {
    expect(workOf('mobilenet_v2', 'features.2.conv.1.0')).toMatchObject({
      operatorClass: 'depthwise',
      flops: 2 * (96 * 56 * 56) * 9,
      inputElements: 96 * 112 * 112,
      weightElements: 96 * 9,
    })
  })

  it('linear layer, with its bias among the weights but not the FLOPs', () => {
    expect(workOf('vgg19', 'classifier.0')).toMatchObject({
      operatorClass: 'linear',
      flops: 2 * 25088 * 4096,
      inputElements: 25088,
      outputElements: 4096,
      weightElements: 25088 * 4096 + 4096,
    })
  })

  it('batch norm reads scale, shift, mean and variance', () => {
    expect(workOf('resnet50', 'bn1')).toMatchObject({ operatorClass: 'norm', flops: 0, weightElements: 4 * 64 })
  })

  it('a residual sum reads both sides; a gate is read once per channel', () => {
    const map = 256 * 56 * 56
    expect(workOf('resnet50', 'layer1.0.add')).toMatchObject({ inputElements: 2 * map, outputElements: map })
    expect(workOf('efficientnet_v2_m', 'features.4.0.block.2.scale')).toMatchObject({
      inputElements: 320 + 320 * 14 * 14,
      outputElements: 320 * 14 * 14,
    })
  })

  it('attention: 64 windows of 49 positions, 2 heads of 32 features', () => {
    const attention = 'blocks.0.layers.0.layers.window_attention.attn_layer.1'
    const map = 64 * 56 * 56
    const scores = 64 * 2 * 49 * 49
    expect(workOf('maxvit_t', `${attention}.scores`)).toMatchObject({
      operatorClass: 'attention',
      flops: 2 * scores * 32,
      inputElements: 2 * map,
      outputElements: scores,
    })
    expect(workOf('maxvit_t', `${attention}.weighted_values`)).toMatchObject({
      flops: 2 * map * 49,
      outputElements: map,
    })
    expect(workOf('maxvit_t', `${attention}.query_copy`)).toMatchObject({ operatorClass: 'copy', inputElements: map })
  })

  it('the position bias is work per batch, not per sample', () => {
    const attention = 'blocks.0.layers.0.layers.grid_attention.attn_layer.1'
    const bias = 2 * 49 * 49
    expect(workOf('maxvit_t', `${attention}.relative_position_bias`)).toMatchObject({
      inputElements: 0,
      outputElements: 0,
      weightElements: 13 * 13 * 2 + bias,
    })
    expect(workOf('maxvit_t', `${attention}.bias_copy`)).toMatchObject({ inputElements: 0, weightElements: 2 * bias })
    expect(workOf('maxvit_t', `${attention}.bias_add`)).toMatchObject({
      inputElements: 64 * bias,
      outputElements: 64 * bias,
      weightElements: bias,
    })
  })

  it('layer norm moves a strided input twice', () => {
    const layer = 'blocks.0.layers.0.layers'
    const contiguous = workOf('maxvit_t', `${layer}.window_attention.mlp_layer.0`)
    const strided = workOf('maxvit_t', `${layer}.grid_attention.mlp_layer.0`)
    expect(contiguous).toMatchObject({ inputElements: 64 * 56 * 56, weightElements: 2 * 64 })
    expect(strided.inputElements).toBe(2 * contiguous.inputElements)
    expect(strided.outputElements).toBe(2 * contiguous.outputElements)
  })
})

describe('operator classes', () => {
  it.each<[NetworkName, Partial<Record<OperatorClass, number>>]>([
    ['resnet50', { conv: 17, pointwise: 36, norm: 53, elementwise: 65, pool: 2, linear: 1 }],
    ['vgg19', { conv: 16, elementwise: 18, pool: 6, linear: 3 }],
    ['mobilenet_v2', { conv: 1, depthwise: 17, pointwise: 34, norm: 52, elementwise: 45, pool: 1, linear: 1 }],
    ['mnasnet1_0', { conv: 1, depthwise: 17, pointwise: 34, norm: 52, elementwise: 45, pool: 1, linear: 1 }],
    ['densenet201', { conv: 99, pointwise: 101, norm: 201, elementwise: 201, concat: 102, pool: 5, linear: 1 }],
  ])('%s', (name, counts) => {
    expect(countClasses(name)).toEqual(counts)
  })

  it('maxvit_t: two products, one softmax and seven copies in each of 22 attention layers', () => {
    expect(countClasses('maxvit_t')).toMatchObject({
      attention: 2 * 22,
      norm: 34 + 45 + 22,
      copy: 8 * 22,
      depthwise: 11,
    })
  })
})

describe.each(networkNames)('%s', (name) => {
  const graph = buildNetwork(name)

  it('reads each of its weights once', () => {
    const stored = graph.nodes.flatMap((node) => [...node.weights, ...node.buffers])
    const biasTables = graph.nodes.filter((node) => node.kind === 'relativePositionBias')
    // Gathered (1), copied (2) and added (1): four passes over each position bias beside the tables themselves.
    const biasTraffic = biasTables.reduce((sum, node) => sum + 4 * 49 * 49 * node.attributes.heads, 0)
    const read = operatorWork(graph).reduce((sum, operator) => sum + operator.weightElements, 0)
    expect(read).toBe(stored.reduce((sum, tensor) => sum + tensor.elements, 0) + biasTraffic)
  })

  it('does the same convolution work per pixel at every size that all strides divide', () => {
    const step = Math.max(32, graph.inputSize.multipleOf)
    const flopsOfMaps = (inputSize: number) =>
      operatorWork(graph, { inputSize })
        .filter(({ operatorClass, inputElements }) => operatorClass !== 'linear' && inputElements > 4096)
        .filter(({ name: id }) => !/\.fc[12]$/.test(id))
        .reduce((sum, operator) => sum + operator.flops, 0)
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 5 }), (factor) => {
        const base = Math.max(step, 224)
        expect(flopsOfMaps(base * factor) / factor ** 2).toBeCloseTo(flopsOfMaps(base), -3)
      }),
      { numRuns: 4 },
    )
  })

  it('never counts a negative, fractional or missing amount', () => {
    for (const operator of operatorWork(graph)) {
      for (const amount of [operator.flops, operator.inputElements, operator.outputElements, operator.weightElements]) {
        expect(Number.isInteger(amount) && amount >= 0, operator.name).toBe(true)
      }
      expect(operator.inputElements + operator.weightElements, operator.name).toBeGreaterThan(0)
      expect(operator.outputElements + operator.weightElements, operator.name).toBeGreaterThan(0)
    }
  })
})

it('refuses an image size that the network cannot take', () => {
  expect(() => operatorWork(buildNetwork('maxvit_t'), { inputSize: 225 })).toThrow(InvalidInputError)
})

import { InvalidInputError, networkNames } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { exportOnnx, graphFromOnnx, type LayerGraph, layerGraph } from '../src/index.js'
import { onnxBytes } from './onnx-bytes.js'

/** Counts and amounts by class of operator. */
function sums({ layers }: LayerGraph) {
  const byClass: Record<string, Record<string, number>> = {}
  for (const layer of layers) {
    byClass[layer.operatorClass] ??= { count: 0, flops: 0, inputElements: 0, outputElements: 0, weightElements: 0 }
    const sum = byClass[layer.operatorClass]!
    sum['count']!++
    for (const amount of ['flops', 'inputElements', 'outputElements', 'weightElements'] as const) {
      sum[amount]! += layer[amount]
    }
  }
  return byClass
}

// Drawing VGG-19's weights takes seconds, and its operators are all in the others.

describe('a layer graph from an ONNX file', () => {
  it.each(networkNames.filter((name) => name !== 'maxvit_t'))(
    'has the work of %s that its own description has',
    (name) => {
      const zoo = layerGraph(name)
      const read = graphFromOnnx(exportOnnx(name, { weights: 'external' }).model)
      expect(read.name).toBe(name)
      expect(sums(read)).toEqual(sums(zoo))
      const { parameters, weightElements, peakActivationElements, unknownOperators } = zoo
      expect(read).toMatchObject({ parameters, weightElements, peakActivationElements, unknownOperators })
    },
  )

  it('has the arithmetic of attention and its norms; what eager frameworks copy besides is not in the file', () => {
    const [zoo, read] = [layerGraph('maxvit_t'), graphFromOnnx(exportOnnx('maxvit_t', { weights: 'external' }).model)]
    const [expected, got] = [sums(zoo), sums(read)]
    for (const name of ['conv', 'pointwise', 'depthwise', 'linear', 'attention', 'elementwise', 'pool']) {
      expect(got[name], name).toEqual(expected[name])
    }
    expect(got['norm']!['count']).toBe(expected['norm']!['count'])
    expect(got['copy']!['inputElements']).toBe(expected['copy']!['inputElements'])
    expect(read.peakActivationElements).toBe(zoo.peakActivationElements)
  })

  it('divides a fixed batch into samples, and takes an open one for one', () => {
    const [open, four] = ['dynamic', 4].map((batch) =>
      graphFromOnnx(exportOnnx('mobilenet_v2', { batch: batch as 4 | 'dynamic', weights: 'external' }).model),
    )
    expect(sums(four!)).toEqual(sums(open!))
    expect(four!.peakActivationElements).toBe(open!.peakActivationElements)
  })

  it('follows edges through views to the layers that compute', () => {
    const { layers } = layerGraph('resnet50')
    const read = graphFromOnnx(exportOnnx('resnet50', { weights: 'external' }).model)
    expect(read.layers.at(-1)!.inputs).toEqual([read.layers.at(-2)!.name])
    expect(layers.at(-1)!.inputs).toEqual([layers.at(-2)!.name])
  })
})

describe('activations and norms that exporters spell out', () => {
  const input = ['N', 10, 64]
  const spelled = {
    SiLU: {
      nodes: [
        ['Sigmoid', ['x'], 's'],
        ['Mul', ['x', 's'], 'y'],
      ],
      operatorClass: 'elementwise',
    },
    'GELU with the error function': {
      nodes: [
        ['Div', ['x', 'c'], 'd'],
        ['Erf', ['d'], 'e'],
        ['Add', ['e', 'c'], 'a'],
        ['Mul', ['x', 'a'], 'm'],
        ['Mul', ['m', 'c'], 'y'],
      ],
      operatorClass: 'elementwise',
    },
    'GELU with the hyperbolic tangent': {
      nodes: [
        ['Pow', ['x', 'c'], 'p'],
        ['Mul', ['p', 'c'], 'q'],
        ['Add', ['x', 'q'], 'r'],
        ['Mul', ['r', 'c'], 's'],
        ['Tanh', ['s'], 't'],
        ['Add', ['t', 'c'], 'u'],
        ['Mul', ['x', 'u'], 'v'],
        ['Mul', ['v', 'c'], 'y'],
      ],
      operatorClass: 'elementwise',
    },
    'hard swish': {
      nodes: [
        ['Add', ['x', 'c'], 'a'],
        ['Clip', ['a', 'c', 'c'], 'b'],
        ['Mul', ['x', 'b'], 'm'],
        ['Div', ['m', 'c'], 'y'],
      ],
      operatorClass: 'elementwise',
    },
    'layer norm': {
      nodes: [
        ['ReduceMean', ['x'], 'mean', { axes: { ints: [-1] } }],
        ['Sub', ['x', 'mean'], 'd'],
        ['Pow', ['d', 'c'], 'p'],
        ['ReduceMean', ['p'], 'v', { axes: { ints: [-1] } }],
        ['Add', ['v', 'c'], 'w'],
        ['Sqrt', ['w'], 'r'],
        ['Div', ['d', 'r'], 'n'],
        ['Mul', ['n', 'g'], 'm'],
        ['Add', ['m', 'b'], 'y'],
      ],
      operatorClass: 'norm',
    },
    'root-mean-square norm': {
      nodes: [
        ['Pow', ['x', 'c'], 'p'],
        ['ReduceMean', ['p'], 'v', { axes: { ints: [-1] } }],
        ['Add', ['v', 'c'], 'w'],
        ['Sqrt', ['w'], 'r'],
        ['Div', ['x', 'r'], 'n'],
        ['Mul', ['n', 'g'], 'y'],
      ],
      operatorClass: 'norm',
    },
  } as const

  it.each(Object.entries(spelled))('%s is one operator', (_, { nodes, operatorClass }) => {
    const written = [...nodes, ['Relu', ['y'], 'z']] as unknown as Parameters<typeof onnxBytes>[0]['nodes']
    const { layers } = graphFromOnnx(onnxBytes({ input, nodes: written, floats: { c: [1], g: [64], b: [64] } }))
    expect(layers.map((layer) => layer.operatorClass)).toEqual([operatorClass, 'elementwise'])
    expect(layers[0]).toMatchObject({ inputs: ['x'], inputElements: 640, outputElements: 640 })
  })

  it('but not where somebody else reads what is inside', () => {
    const nodes = [
      ['Sigmoid', ['x'], 's'],
      ['Mul', ['x', 's'], 'm'],
    ] as const
    expect(graphFromOnnx(onnxBytes({ input, nodes })).layers).toHaveLength(1)
    const shown = [...nodes, ['Concat', ['m', 's'], 'z', { axis: { int: 1 } }]] as const
    expect(graphFromOnnx(onnxBytes({ input, nodes: shown })).layers).toHaveLength(3)
  })
})

describe('a transformer with an open sequence', () => {
  const [features, heads, sequence] = [64, 4, 12]
  const bytes = onnxBytes({
    name: 'attention',
    input: ['batch', 'sequence', features],
    floats: { w: [features, 3 * features], bias: [3 * features], out: [features, features] },
    integers: { last: [-1], zero: [0], one: [1], two: [2], three: [3], heads: [heads] },
    nodes: [
      ['MatMul', ['x', 'w'], 'product'],
      ['Add', ['product', 'bias'], 'qkv'],
      // What exporters make of `.view(batch, sequence, 3, heads, -1)`.
      ['Shape', ['x'], 'shape'],
      ['Slice', ['shape', 'zero', 'one'], 'batch'],
      ['Slice', ['shape', 'one', 'two'], 'length'],
      ['Concat', ['batch', 'length', 'three', 'heads', 'last'], 'view', { axis: { int: 0 } }],
      ['Reshape', ['qkv', 'view'], 'split'],
      ['Transpose', ['split'], 'byHead', { perm: { ints: [2, 0, 3, 1, 4] } }],
      ['Gather', ['byHead', 'zero'], 'q', { axis: { int: 0 } }],
      ['Gather', ['byHead', 'one'], 'k', { axis: { int: 0 } }],
      ['Transpose', ['k'], 'kt', { perm: { ints: [0, 1, 2, 4, 3] } }],
      ['MatMul', ['q', 'kt'], 'scores'],
      ['Softmax', ['scores'], 'probabilities', { axis: { int: -1 } }],
      ['MatMul', ['probabilities', 'q'], 'mixed'],
      ['Reshape', ['mixed', 'shape'], 'flat'],
      ['MatMul', ['flat', 'out'], 'y'],
    ],
  })

  it('needs a size for it and says so', () => {
    expect(() => graphFromOnnx(bytes)).toThrow(/sizes: got \[.sequence.\], expected .*\{ sequence: 128 \}/)
    expect(() => graphFromOnnx(bytes, { sizes: { sequence: 0 } })).toThrow("sizes['sequence']")
  })

  it('has the products, norms and copies that it computes', () => {
    const graph = graphFromOnnx(bytes, { sizes: { sequence } })
    const kinds = graph.layers.map(({ operatorClass, flops }) => [operatorClass, flops])
    const product = 2 * heads * sequence ** 2 * (features / heads)
    expect(kinds).toEqual([
      ['linear', 2 * sequence * features * 3 * features],
      ['copy', 0],
      ['attention', product],
      ['norm', 0],
      ['attention', product],
      ['linear', 2 * sequence * features ** 2],
    ])
    expect(graph.layers[0]!.weightElements).toBe(3 * features * (features + 1))
    expect(graph.parameters).toBe(4 * features ** 2 + 3 * features)
  })
})

describe('operators that are not known', () => {
  const graph = graphFromOnnx(
    onnxBytes({
      input: ['N', 3, 8, 8],
      floats: { w: [16, 3, 3, 3] },
      nodes: [
        ['Conv', ['x', 'w'], 'c', { pads: { ints: [1, 1, 1, 1] } }],
        ['Frobnicate', ['c'], 'f'],
        ['Relu', ['f'], 'r'],
        ['Frobnicate', ['r'], 'g'],
        ['NonZero', ['g'], 'n'],
        ['Relu', ['n'], 'y'],
      ],
    }),
  )

  it('are named with how often they occur and their share of what moves', () => {
    const map = 16 * 8 * 8
    const total = 3 * 64 + map + 5 * 2 * map
    expect(graph.unknownOperators).toEqual([
      { operator: 'Frobnicate', occurrences: 2, shareOfElements: (4 * map) / total, outputSize: 'assumed' },
      { operator: 'NonZero', occurrences: 1, shareOfElements: (2 * map) / total, outputSize: 'assumed' },
    ])
  })

  it('count as what they read and write, and those behind them are there', () => {
    expect(graph.layers.map(({ operator, flops }) => [operator, flops])).toEqual([
      ['Conv', 2 * 64 * 16 * 27],
      ['Frobnicate', 0],
      ['Relu', 0],
      ['Frobnicate', 0],
      ['NonZero', 0],
      ['Relu', 0],
    ])
  })
})

describe('sizes of what slides, scales and pads', () => {
  const sizeOf = (node: Parameters<typeof onnxBytes>[0]['nodes'][number], rest: object = {}) =>
    graphFromOnnx(onnxBytes({ input: ['N', 6, 11, 13], nodes: [node], ...rest })).layers[0]?.outputShape
  const ints = (...values: number[]) => ({ ints: values })

  it.each([
    ['Conv', { strides: ints(2, 2), pads: ints(1, 1, 1, 1) }, { w: [8, 6, 3, 3] }, [1, 8, 6, 7]],
    ['Conv', { dilations: ints(2, 2) }, { w: [8, 6, 3, 3] }, [1, 8, 7, 9]],
    ['Conv', { group: { int: 6 }, pads: ints(2, 0, 2, 0) }, { w: [6, 1, 5, 1] }, [1, 6, 11, 13]],
    ['ConvTranspose', { strides: ints(2, 2), output_padding: ints(1, 1) }, { w: [6, 4, 2, 2] }, [1, 4, 23, 27]],
  ])('%s %j', (operator, attributes, floats, expected) => {
    expect(sizeOf([operator, ['x', 'w'], 'y', attributes], { floats })).toEqual(expected)
  })

  it.each([
    ['MaxPool', { kernel_shape: ints(3, 3), strides: ints(2, 2), ceil_mode: { int: 1 } }, [1, 6, 5, 6]],
    ['MaxPool', { kernel_shape: ints(2, 2), strides: ints(2, 2), ceil_mode: { int: 1 } }, [1, 6, 6, 7]],
    ['ReduceMean', { axes: ints(2, -1), keepdims: { int: 0 } }, [1, 6]],
    ['GlobalAveragePool', {}, [1, 6, 1, 1]],
    ['Transpose', { perm: ints(0, 2, 3, 1) }, [1, 11, 13, 6]],
    ['Pad', { pads: ints(0, 0, 1, 2, 0, 0, 3, 4) }, [1, 6, 15, 19]],
  ])('%s %j', (operator, attributes, expected) => {
    expect(sizeOf([operator, ['x'], 'y', attributes])).toEqual(expected)
  })
})

describe('a file that is no whole model', () => {
  const whole = onnxBytes({
    input: ['N', 3, 8, 8],
    floats: { w: [4, 3, 3, 3] },
    nodes: [['Conv', ['x', 'w'], 'y', { group: { int: 1 } }]],
  })

  it('is refused, wherever it was cut off', () => {
    for (let length = 0; length < whole.byteLength; length++) {
      expect(() => graphFromOnnx(whole.subarray(0, length)), `${length} bytes`).toThrow(InvalidInputError)
    }
    expect(() => graphFromOnnx(whole.subarray(0, whole.byteLength / 2))).toThrow('onnx')
    expect(() => graphFromOnnx(new TextEncoder().encode('PK not a model at all'))).toThrow('onnx')
    expect(() => graphFromOnnx(new Uint8Array())).toThrow('the bytes of a whole ONNX model')
  })

  it('nor one in which nothing depends on an input', () => {
    const bytes = onnxBytes({ input: ['N'], floats: { w: [4] }, nodes: [['Relu', ['w'], 'y']] })
    expect(() => graphFromOnnx(bytes)).toThrow('depends on an input')
  })
})

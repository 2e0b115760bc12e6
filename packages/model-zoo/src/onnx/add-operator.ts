import type { GraphNode, NodeOf, OperatorKind } from '../network-graph.js'
import type { Shape } from '../shapes.js'
import { adaptiveAverage } from './adaptive-average.js'
import type { OnnxAttributes } from './onnx-messages.js'
import type { OnnxNodeList } from './onnx-node-list.js'
import { relativePositionIndex } from './relative-position-index.js'

/** The tensors and shapes that the translation of a node needs. All shapes are for a batch of 1. */
export interface OperatorContext {
  /** Names of the tensors that the node reads. */
  readonly inputs: readonly string[]
  readonly inputShapes: readonly Shape[]
  /** Name of the tensor that the node writes. */
  readonly output: string
  readonly outputShape: Shape
}

/** ONNX's operator for each kind that has no attributes and that ONNX also has. */
const oneToOne: { readonly [Kind in OperatorKind]?: string } = {
  relu: 'Relu',
  sigmoid: 'Sigmoid',
  tanh: 'Tanh',
  add: 'Add',
  mul: 'Mul',
  // An ONNX tensor has no layout. The runtime decides whether to copy.
  contiguous: 'Identity',
}

/** Translates one node of the graph to standard ONNX operators, for any batch. */
export function addOperator(list: OnnxNodeList, node: GraphNode, context: OperatorContext): void {
  const { inputs, inputShapes, output, outputShape } = context
  const x = inputs[0] ?? ''
  const inputShape = inputShapes[0] ?? []
  const tensors = [...node.weights, ...node.buffers].map((tensor) => tensor.name)
  const step = (name: string) => `${node.id}/${name}`
  if (node.kind in oneToOne) {
    list.add(oneToOne[node.kind]!, inputs, output)
    return
  }
  switch (node.kind) {
    case 'conv2d':
      list.add('Conv', [x, ...tensors], output, { ...windowAttributes(node), group: { int: node.attributes.groups } })
      return
    case 'batchNorm':
      list.add('BatchNormalization', [x, ...tensors], output, { epsilon: { float: node.attributes.epsilon } })
      return
    case 'layerNorm':
      list.add('LayerNormalization', [x, ...tensors], output, {
        axis: { int: -1 },
        epsilon: { float: node.attributes.epsilon },
      })
      return
    case 'linear':
      addLinear(list, node, context)
      return
    case 'relu6':
      list.add('Clip', [x, list.float(0), list.float(6)], output)
      return
    case 'silu':
      list.add('Mul', [x, list.add('Sigmoid', [x], step('sigmoid'))], output)
      return
    case 'gelu': {
      // GELU as x * (1 + erf(x / sqrt 2)) / 2, in an order of operators that runtimes can fuse. ONNX has an operator
      // Gelu only since opset 20.
      const ratio = list.add('Div', [x, list.float(Math.SQRT2)], step('ratio'))
      const sum = list.add('Add', [list.add('Erf', [ratio], step('erf')), list.float(1)], step('sum'))
      list.add('Mul', [list.add('Mul', [x, sum], step('product')), list.float(0.5)], output)
      return
    }
    case 'scale':
      list.add('Mul', [x, list.float(node.attributes.factor)], output)
      return
    case 'concat':
      list.add('Concat', inputs, output, { axis: { int: node.attributes.axis } })
      return
    case 'maxPool':
      list.add('MaxPool', [x], output, windowAttributes(node))
      return
    case 'avgPool':
      list.add('AveragePool', [x], output, { ...windowAttributes(node), count_include_pad: { int: 1 } })
      return
    case 'adaptiveAvgPool':
      addAdaptiveAvgPool(list, node, context)
      return
    case 'spatialMean':
      list.add('ReduceMean', [x], output, { axes: { ints: node.attributes.axes }, keepdims: { int: 0 } })
      return
    case 'flatten':
      list.add('Flatten', [x], output, { axis: { int: node.attributes.startAxis } })
      return
    case 'windowPartition': {
      const { cut, toWindows } = windowAxes(node.attributes, inputShape)
      const pieces = list.reshape(x, cut, step('cut'))
      list.reshape(list.transpose(pieces, toWindows, step('windows')), anyBatch(outputShape), output)
      return
    }
    case 'windowMerge': {
      const { cut, toWindows } = windowAxes(node.attributes, outputShape)
      const windows = list.reshape(x, permute(cut, toWindows), step('windows'))
      list.reshape(list.transpose(windows, inverse(toWindows), step('pieces')), anyBatch(outputShape), output)
      return
    }
    case 'splitHeads': {
      const { part, heads } = node.attributes
      const [, windows = 1, , positions = 1, features = 1] = outputShape
      const bound = (index: number) => list.integers(`integer.${index}`, [index])
      const begin = part * heads * features
      const slice = [x, bound(begin), bound(begin + heads * features), bound(-1)]
      const interleaved = list.reshape(
        list.add('Slice', slice, step('part')),
        [0, windows, positions, heads, features],
        step('heads'),
      )
      list.transpose(interleaved, [0, 1, 3, 2, 4], output)
      return
    }
    case 'mergeHeads':
      list.reshape(list.transpose(x, [0, 1, 3, 2, 4], step('positions')), anyBatch(outputShape), output)
      return
    case 'matmul': {
      const [a = '', b = ''] = inputs
      const rank = inputShapes[1]?.length ?? 2
      const lastTwoSwapped = [...Array(rank - 2).keys(), rank - 1, rank - 2]
      list.add('MatMul', [a, node.attributes.transposeB ? list.transpose(b, lastTwoSwapped, step('b')) : b], output)
      return
    }
    case 'softmax':
      list.add('Softmax', [x], output, { axis: { int: node.attributes.axis } })
      return
    case 'relativePositionBias': {
      const { size } = node.attributes
      const index = list.integers(`relative_position_index.${size}`, relativePositionIndex(size))
      list.add('Gather', [...tensors, index], output, { axis: { int: 0 } })
      return
    }
    case 'pairsToHeads':
      list.reshape(list.transpose(x, [1, 0], step('heads')), outputShape, output)
      return
  }
}

function windowAttributes({ attributes }: NodeOf<'conv2d' | 'maxPool' | 'avgPool'>): OnnxAttributes {
  const { kernel, stride, padding } = attributes
  return {
    kernel_shape: { ints: kernel },
    strides: { ints: stride },
    pads: { ints: [...padding, ...padding] },
  }
}

/** Weights keep the layout [out, in] of the state dictionary; runtimes fold the transpose when they load the model. */
function addLinear(list: OnnxNodeList, node: NodeOf<'linear'>, { inputs, inputShapes, output }: OperatorContext): void {
  const [x = ''] = inputs
  const [weight = '', ...bias] = node.weights.map((tensor) => tensor.name)
  if (inputShapes[0]?.length === 2) {
    list.add('Gemm', [x, weight, ...bias], output, { transB: { int: 1 } })
    return
  }
  const product = bias.length > 0 ? `${node.id}/product` : output
  list.add('MatMul', [x, list.transpose(weight, [1, 0], `${node.id}/weight`)], product)
  if (bias.length > 0) list.add('Add', [product, ...bias], output)
}

function addAdaptiveAvgPool(list: OnnxNodeList, node: NodeOf<'adaptiveAvgPool'>, context: OperatorContext): void {
  const { inputs, inputShapes, output } = context
  const [x = ''] = inputs
  const [, , height = 1, width = 1] = inputShapes[0] ?? []
  const [rows, columns] = node.attributes.outputSize
  if (rows === 1 && columns === 1) {
    list.add('GlobalAveragePool', [x], output)
  } else if (height % rows === 0 && width % columns === 0) {
    const kernel = { ints: [height / rows, width / columns] }
    list.add('AveragePool', [x], output, { kernel_shape: kernel, strides: kernel })
  } else {
    // ONNX has no pooling with regions of unequal size, so the mean along each axis is computed as a matrix product.
    const alongHeight = list.matrix(`adaptive_average.${rows}x${height}`, rows, height, () =>
      adaptiveAverage(height, rows),
    )
    const alongWidth = list.matrix(`adaptive_average.${columns}x${width}`, columns, width, () =>
      adaptiveAverage(width, columns),
    )
    const means = list.add('MatMul', [alongHeight, x], `${node.id}/rows`)
    list.add('MatMul', [means, list.transpose(alongWidth, [1, 0], `${node.id}/columns`)], output)
  }
}

/**
 * Axes of a feature map [b, c, h, w] that is cut into windows, and the permutation to [b, windows (2), positions (2),
 * c].
 */
function windowAxes({ size, layout }: { size: number; layout: 'window' | 'grid' }, map: Shape) {
  const [, channels = 1, height = 1, width = 1] = map
  const [rows, columns] = [height / size, width / size]
  return layout === 'window'
    ? { cut: [0, channels, rows, size, columns, size], toWindows: [0, 2, 4, 3, 5, 1] }
    : { cut: [0, channels, size, rows, size, columns], toWindows: [0, 3, 5, 2, 4, 1] }
}

/** Target of a reshape that keeps the batch: a 0 keeps the size of an axis. */
function anyBatch(shape: Shape): Shape {
  return [0, ...shape.slice(1)]
}

function permute(values: readonly number[], permutation: readonly number[]): readonly number[] {
  return permutation.map((axis) => values[axis] ?? 0)
}

function inverse(permutation: readonly number[]): readonly number[] {
  return permutation.map((_, axis) => permutation.indexOf(axis))
}

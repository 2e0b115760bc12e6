import { broadcastShapes, elementCount, type Shape } from '../shapes.js'
import { axisOf, fail, type NodeReading, permutationOf } from './node-reading.js'
import { slicedAxes } from './sliced-axes.js'

/**
 * Computes the shapes of a node's outputs.
 *
 * @throws Unknown if they cannot be inferred
 */
export type ShapeRule = (node: NodeReading) => readonly Shape[]

function names(spaced: string): string[] {
  return spaced.trim().split(/\s+/)
}

/** Assigns the same rule to several operators. */
function rules(operators: readonly string[], rule: ShapeRule): Record<string, ShapeRule> {
  return Object.fromEntries(operators.map((name) => [name, rule]))
}

/** Gives every output the shape of the first input. */
const likeFirst: ShapeRule = (node) => node.node.outputs.map(() => node.shape(0))

const broadcast: ShapeRule = (node) => {
  const shapes = node.inputs.filter((input) => input !== undefined).map((input) => input.shape)
  return [broadcastShapes(shapes) ?? fail()]
}

/** Operators whose output has the shape of their first input. */
const likeFirstInput = [
  ...names(`Relu LeakyRelu ThresholdedRelu Elu Celu Selu Sigmoid HardSigmoid HardSwish Swish Mish Gelu Softplus
    Softsign Tanh Erf Exp Log Sqrt Reciprocal Neg Abs Sign Floor Ceil Round Clip Sin Cos Tan Asin Acos Atan Sinh Cosh
    Asinh Acosh Atanh Not BitwiseNot IsNaN IsInf Cast CastLike Identity Dropout Softmax LogSoftmax Hardmax Shrink
    BatchNormalization InstanceNormalization GroupNormalization LpNormalization LRN RMSNormalization
    MeanVarianceNormalization QuantizeLinear DequantizeLinear CumSum Trilu ScatterND ScatterElements Scatter EyeLike
    RandomNormalLike RandomUniformLike Bernoulli RotaryEmbedding ReverseSequence SimplifiedLayerNormalization`),
  ...names(`Gelu FastGelu QuickGelu BiasGelu QuantizeLinear DequantizeLinear RotaryEmbedding SkipLayerNormalization
    SkipSimplifiedLayerNormalization QLinearSigmoid QLinearLeakyRelu`).map(contrib),
]
const elementwise = names(`Add Sub Mul Div Pow Mod Min Max Sum Mean And Or Xor Equal Greater Less GreaterOrEqual
  LessOrEqual Where PRelu BitShift BitwiseAnd BitwiseOr BitwiseXor`)
const reductions = names(`ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum
  ReduceLogSumExp ReduceSumSquare`)

export function contrib(operator: string): string {
  return `com.microsoft:${operator}`
}

/** Output size along each axis of a window that slides over the input, with `auto_pad`, `ceil_mode` and dilations. */
function slide(node: NodeReading, sizes: Shape, kernel: readonly number[]): number[] {
  const strides = node.ints('strides') ?? kernel.map(() => 1)
  const dilations = node.ints('dilations') ?? kernel.map(() => 1)
  const pads = node.ints('pads') ?? kernel.flatMap(() => [0, 0])
  const padding = node.text('auto_pad', 'NOTSET')
  const round = node.int('ceil_mode', 0) === 1 ? Math.ceil : Math.floor
  return sizes.map((size, i) => {
    const stride = strides[i]!
    const span = (kernel[i]! - 1) * dilations[i]! + 1
    if (padding.startsWith('SAME')) return Math.ceil(size / stride)
    const padded = size + (padding === 'VALID' ? 0 : pads[i]! + pads[i + kernel.length]!)
    return round((padded - span) / stride) + 1
  })
}

const convolution = (x: number, w: number): ShapeRule => {
  return (node) => {
    const [batch = fail(), , ...sizes] = node.shape(x)
    const [outChannels = fail(), , ...kernel] = node.shape(w)
    return [[batch, outChannels, ...slide(node, sizes, kernel)]]
  }
}

const pool: ShapeRule = (node) => {
  const [batch = fail(), channels = fail(), ...sizes] = node.shape(0)
  const shape = [batch, channels, ...slide(node, sizes, node.ints('kernel_shape') ?? fail())]
  return node.node.outputs.map(() => shape)
}

const globalPool: ShapeRule = (node) => [node.shape(0).map((size, axis) => (axis < 2 ? size : 1))]

const matMul = (a: number, b: number): ShapeRule => {
  return (node) => {
    const left = [...node.shape(a)]
    const right = [...node.shape(b)]
    if (node.int('transA', 0)) left.push(...left.splice(-2).reverse())
    if (node.int('transB', 0)) right.push(...right.splice(-2).reverse())
    const [rowVector, columnVector] = [left.length === 1, right.length === 1]
    if (rowVector) left.unshift(1)
    if (columnVector) right.push(1)
    if (left.at(-1) !== right.at(-2)) fail()
    const outer = broadcastShapes([left.slice(0, -2), right.slice(0, -2)]) ?? fail()
    return [[...outer, ...(rowVector ? [] : [left.at(-2)!]), ...(columnVector ? [] : [right.at(-1)!])]]
  }
}

const reduction: ShapeRule = (node) => {
  const shape = node.shape(0)
  const wanted = node.list('axes', 1)
  if ((wanted?.length ?? 0) === 0 && node.int('noop_with_empty_axes', 0) === 1) return [shape]
  const axes = (wanted?.length ? wanted : shape.map((_, i) => i)).map((axis) => axisOf(axis, shape.length))
  return [without(shape, axes, node.int('keepdims', 1) === 1)]
}

function without(shape: Shape, axes: readonly number[], keep: boolean): number[] {
  return keep ? shape.map((size, i) => (axes.includes(i) ? 1 : size)) : shape.filter((_, i) => !axes.includes(i))
}

const recurrence: ShapeRule = (node) => {
  const [sequence = fail(), batch = fail()] = node.shape(0)
  const hidden = node.attribute('hidden_size')?.int ?? fail()
  const directions = node.text('direction', 'forward') === 'bidirectional' ? 2 : 1
  const batchFirst = node.int('layout', 0) === 1
  const last = batchFirst ? [sequence, directions, hidden] : [directions, batch, hidden]
  return node.node.outputs.map((_, i) => {
    if (i > 0) return last
    return batchFirst ? [sequence, batch, directions, hidden] : [sequence, directions, batch, hidden]
  })
}

export const shapeRules: Readonly<Record<string, ShapeRule>> = {
  ...rules(likeFirstInput, likeFirst),
  ...rules(elementwise, broadcast),
  ...rules(reductions, reduction),
  ...rules(['LSTM', 'GRU', 'RNN'], recurrence),
  ...rules(['Conv', 'ConvInteger', contrib('FusedConv'), 'DeformConv'], convolution(0, 1)),
  ...rules(['MaxPool', 'AveragePool', 'LpPool', contrib('QLinearAveragePool')], pool),
  ...rules(['GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool', contrib('QLinearGlobalAveragePool')], globalPool),
  ...rules(['MatMul', 'MatMulInteger', contrib('FusedMatMul')], matMul(0, 1)),
  ...rules([contrib('QLinearAdd'), contrib('QLinearMul')], (node) => [
    broadcastShapes([node.shape(0), node.shape(3)]) ?? fail(),
  ]),
  ...rules(['ArgMax', 'ArgMin'], (node) => {
    const shape = node.shape(0)
    return [without(shape, [axisOf(node.int('axis', 0), shape.length)], node.int('keepdims', 1) === 1)]
  }),
  ...rules(['RandomNormal', 'RandomUniform'], (node) => [node.ints('shape') ?? fail()]),
  LayerNormalization: (node) =>
    node.node.outputs.map((_, i) => {
      const shape = node.shape(0)
      const from = axisOf(node.int('axis', -1), shape.length)
      return i === 0 ? shape : shape.map((size, axis) => (axis < from ? size : 1))
    }),
  QLinearConv: convolution(0, 3),
  ConvTranspose: (node) => {
    const [batch = fail(), , ...sizes] = node.shape(0)
    const [, perGroup = fail(), ...kernel] = node.shape(1)
    const channels = perGroup * node.int('group', 1)
    const stated = node.ints('output_shape')
    if (stated) return [[batch, channels, ...stated.slice(-sizes.length)]]
    const strides = node.ints('strides') ?? sizes.map(() => 1)
    if (node.text('auto_pad', 'NOTSET').startsWith('SAME')) {
      return [[batch, channels, ...sizes.map((size, i) => size * strides[i]!)]]
    }
    const dilations = node.ints('dilations') ?? sizes.map(() => 1)
    const pads = node.ints('pads') ?? sizes.flatMap(() => [0, 0])
    const more = node.ints('output_padding') ?? sizes.map(() => 0)
    const grown = sizes.map((size, i) => {
      const span = (kernel[i]! - 1) * dilations[i]! + 1
      return strides[i]! * (size - 1) + more[i]! + span - pads[i]! - pads[i + sizes.length]!
    })
    return [[batch, channels, ...grown]]
  },
  QLinearMatMul: matMul(0, 3),
  Gemm: (node) => {
    const [a, b] = [node.shape(0), node.shape(1)]
    return [[a[node.int('transA', 0)] ?? fail(), b[1 - node.int('transB', 0)] ?? fail()]]
  },
  Einsum: (node) => {
    const { sizes, output } = einsum(node)
    return [[...output].map((letter) => sizes.get(letter) ?? fail())]
  },
  Flatten: (node) => {
    const shape = node.shape(0)
    const axis = axisOf(node.int('axis', 1), shape.length)
    return [[elementCount(shape.slice(0, axis)), elementCount(shape.slice(axis))]]
  },
  Reshape: (node) => {
    const shape = node.shape(0)
    const wanted = node.list('shape', 1) ?? fail()
    const kept = wanted.map((size, i) => (size === 0 && node.int('allowzero', 0) === 0 ? (shape[i] ?? fail()) : size))
    const rest = elementCount(kept.filter((size) => size !== -1))
    return [kept.map((size) => (size === -1 ? elementCount(shape) / rest : size))]
  },
  Transpose: (node) => {
    const shape = node.shape(0)
    return [permutationOf(node).map((axis) => shape[axis] ?? fail())]
  },
  Squeeze: (node) => {
    const shape = node.shape(0)
    const axes = node.list('axes', 1)?.map((axis) => axisOf(axis, shape.length))
    return [shape.filter((size, i) => (axes ? !axes.includes(i) : size !== 1))]
  },
  Unsqueeze: (node) => {
    const shape = [...node.shape(0)]
    const wanted = node.list('axes', 1) ?? fail()
    const rank = shape.length + wanted.length
    const axes = wanted.map((axis) => axisOf(axis, rank)).sort((a, b) => a - b)
    for (const axis of axes) shape.splice(axis, 0, 1)
    return [shape]
  },
  Concat: (node) => {
    const shapes = node.inputs.filter((input) => input !== undefined).map((input) => input.shape)
    const first = shapes[0] ?? fail()
    const axis = axisOf(node.attribute('axis')?.int ?? fail(), first.length)
    return [first.map((size, i) => (i === axis ? shapes.reduce((sum, shape) => sum + shape[axis]!, 0) : size))]
  },
  Split: (node) => {
    const shape = node.shape(0)
    const axis = axisOf(node.int('axis', 0), shape.length)
    const parts = node.node.outputs.length
    const each = Math.ceil(shape[axis]! / parts)
    const sizes = node.list('split', 1) ?? node.node.outputs.map((_, i) => Math.min(each, shape[axis]! - i * each))
    return sizes.map((part) => shape.map((size, i) => (i === axis ? part : size)))
  },
  Slice: (node) => {
    const sizes = [...node.shape(0)]
    for (const { axis, positions } of slicedAxes(node)) sizes[axis] = positions.length
    return [sizes]
  },
  Gather: (node) => {
    const [data, indices] = [node.shape(0), node.shape(1)]
    const axis = axisOf(node.int('axis', 0), data.length)
    return [[...data.slice(0, axis), ...indices, ...data.slice(axis + 1)]]
  },
  GatherElements: (node) => [node.shape(1)],
  GatherND: (node) => {
    const [data, indices] = [node.shape(0), node.shape(1)]
    return [[...indices.slice(0, -1), ...data.slice(node.int('batch_dims', 0) + (indices.at(-1) ?? fail()))]]
  },
  Expand: (node) => [broadcastShapes([node.shape(0), node.values(1)]) ?? fail()],
  Tile: (node) => [node.shape(0).map((size, i) => size * (node.values(1)[i] ?? 1))],
  Pad: (node) => {
    const shape = node.shape(0)
    const pads = node.list('pads', 1) ?? fail()
    const axes = node.has(3) ? node.values(3).map((axis) => axisOf(axis, shape.length)) : shape.map((_, i) => i)
    const sizes = [...shape]
    axes.forEach((axis, i) => {
      sizes[axis] = sizes[axis]! + pads[i]! + pads[i + axes.length]!
    })
    return [sizes]
  },
  Resize: (node) => [resized(node, node.opset < 11 ? 1 : 2, 3)],
  Upsample: (node) => [resized(node, 1, Number.POSITIVE_INFINITY)],
  DepthToSpace: (node) => {
    const [batch, channels, height, width, block] = blocked(node)
    return [[batch, channels / block ** 2, height * block, width * block]]
  },
  SpaceToDepth: (node) => {
    const [batch, channels, height, width, block] = blocked(node)
    return [[batch, channels * block ** 2, height / block, width / block]]
  },
  TopK: (node) => {
    const shape = node.shape(0)
    const axis = axisOf(node.int('axis', -1), shape.length)
    const count = node.attribute('k')?.int ?? node.values(1)[0] ?? fail()
    return node.node.outputs.map(() => shape.map((size, i) => (i === axis ? count : size)))
  },
  OneHot: (node) => {
    const indices = [...node.shape(0)]
    const axis = axisOf(node.int('axis', -1), indices.length + 1)
    indices.splice(axis, 0, node.values(1)[0] ?? fail())
    return [indices]
  },
  Range: (node) => {
    const [start = fail(), limit = fail(), step = fail()] = [0, 1, 2].map((i) => node.values(i)[0])
    return [[Math.max(0, Math.ceil((limit - start) / step))]]
  },
  Constant: (node) => {
    const { tensor } = node.attribute('value') ?? {}
    if (tensor) return [tensor.dims]
    if (node.attribute('value_int') ?? node.attribute('value_float')) return [[]]
    return [[(node.ints('value_ints') ?? node.attribute('value_floats')?.floats ?? fail()).length]]
  },
  ConstantOfShape: (node) => [node.values(0)],
  Shape: (node) => [[shapeSlice(node).length]],
  Size: () => [[]],
  GridSample: (node) => [[...node.shape(0).slice(0, 2), ...node.shape(1).slice(1, -1)]],
  RoiAlign: (node) => [
    [node.shape(1)[0] ?? fail(), node.shape(0)[1] ?? fail(), node.int('output_height', 1), node.int('output_width', 1)],
  ],
  /** Queries, keys and values are [b, heads, positions, features] or [b, positions, heads * features]. */
  Attention: (node) => {
    const [queries, values] = [node.shape(0), node.shape(2)]
    if (queries.length === 4) return [[...queries.slice(0, -1), values.at(-1) ?? fail()]]
    const headRatio = node.int('q_num_heads', 1) / node.int('kv_num_heads', 1)
    return [[...queries.slice(0, -1), (values.at(-1) ?? fail()) * headRatio]]
  },
  [contrib('Attention')]: (node) => [[...node.shape(0).slice(0, -1), (node.shape(1).at(-1) ?? fail()) / 3]],
  [contrib('MultiHeadAttention')]: (node) => [[...node.shape(0).slice(0, -1), node.shape(2).at(-1) ?? fail()]],
  [contrib('EmbedLayerNormalization')]: (node) => {
    const shape = [...node.shape(0), node.shape(2).at(-1) ?? fail()]
    return node.node.outputs.map((_, i) => (i === 1 ? node.shape(0).slice(0, 1) : shape))
  },
}

/** The part of its input's shape that a `Shape` operator returns. */
export function shapeSlice(node: NodeReading): readonly number[] {
  const shape = node.shape(0)
  return shape.slice(node.int('start', 0), node.attribute('end')?.int ?? shape.length)
}

/** Reads the axes of a feature map, and the side length of the blocks that the operator cuts from it or joins. */
function blocked(node: NodeReading) {
  const [batch = fail(), channels = fail(), height = fail(), width = fail()] = node.shape(0)
  return [batch, channels, height, width, node.attribute('blocksize')?.int ?? fail()] as const
}

function resized(node: NodeReading, scalesInput: number, sizesInput: number): number[] {
  const shape = [...node.shape(0)]
  const axes = node.ints('axes')?.map((axis) => axisOf(axis, shape.length)) ?? shape.map((_, i) => i)
  if (node.has(sizesInput) && node.shape(sizesInput)[0] !== 0) {
    const sizes = node.values(sizesInput)
    axes.forEach((axis, i) => {
      shape[axis] = sizes[i]!
    })
    return shape
  }
  const scales = node.attribute('scales')?.floats ?? node.values(scalesInput)
  axes.forEach((axis, i) => {
    shape[axis] = Math.floor(shape[axis]! * scales[i]! + 1e-6)
  })
  return shape
}

/** Reads an Einstein summation: the size of each letter, and the letters of the result. */
export function einsum(node: NodeReading): { sizes: ReadonlyMap<string, number>; output: string } {
  const equation = node.text('equation', '').replaceAll(' ', '')
  if (equation.includes('.')) fail()
  const [left = '', right] = equation.split('->')
  const sizes = new Map<string, number>()
  left.split(',').forEach((letters, i) => {
    const shape = node.shape(i)
    if (letters.length !== shape.length) fail()
    ;[...letters].forEach((letter, axis) => {
      sizes.set(letter, Math.max(sizes.get(letter) ?? 1, shape[axis]!))
    })
  })
  const once = [...left.replaceAll(',', '')].filter((letter, _, all) => all.filter((l) => l === letter).length === 1)
  return { sizes, output: right ?? once.sort().join('') }
}

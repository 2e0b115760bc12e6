import { elementCount, type Shape } from '../shapes.js'
import type { OperatorClass } from '../work.js'
import type { MergedStep } from './merge-steps.js'
import { permutationOf } from './node-reading.js'
import { einsum, shapeRules } from './output-shapes.js'
import { isFloat } from './read-onnx.js'

/**
 * A group of a convolution with fewer input channels than this is too narrow for a matrix unit. It runs like a
 * depthwise convolution.
 */
const NARROW_GROUP = 16

/** Whether there are rules for the step's shape and for its work. */
export function isKnown({ operator, parts }: MergedStep): boolean {
  return parts.length > 1 || operator in shapeRules
}

const views = new Set(['Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Identity', 'Dropout', 'Slice', 'Split', 'Expand'])
const quantisations = /^(com\.microsoft:)?(Dequantize|Quantize)Linear$/

/**
 * Whether the step moves no data. Such steps are views of the same values, casts between precisions (a simulated tenant
 * has only one), quantisations that runtimes fuse with the adjacent operator, and transpositions that keep the order in
 * memory.
 */
export function isViewStep({ operator, reading, parts }: MergedStep): boolean {
  if (parts.length > 1) return false
  if (views.has(operator) || quantisations.test(operator)) return true
  const [first] = reading.inputs
  if (operator === 'Cast') return isFloat(first?.elementType ?? 0) && isFloat(reading.int('to', 1))
  // A lookup of a single position needs no copy.
  if (operator === 'Gather') return first?.dynamic === true && reading.inputs[1]?.values?.length === 1
  if (operator !== 'Transpose') return false
  const shape = first?.shape ?? []
  const moved = permutationOf(reading).filter((axis) => shape[axis] !== 1)
  return moved.every((axis, i) => i === 0 || axis > moved[i - 1]!)
}

/** Whether the step swaps the last two axes. A matrix product can apply such a transposition while reading. */
export function swapsLastTwo({ operator, reading, parts }: MergedStep): boolean {
  if (operator !== 'Transpose' || parts.length > 1) return false
  const rank = reading.inputs[0]?.shape.length ?? 0
  const order = reading.ints('perm') ?? []
  return rank >= 2 && order.every((axis, i) => axis === (i < rank - 2 ? i : i === rank - 2 ? rank - 1 : rank - 2))
}

export const matrixProducts: ReadonlySet<string> = new Set(['MatMul', 'com.microsoft:FusedMatMul'])

const norms = /Normalization$|^Softmax$|^LogSoftmax$|^Hardmax$|^LRN$/
const pools = /Pool$|^Reduce|^Arg|^TopK$|^CumSum$|^RoiAlign$/
const copies =
  /^(Transpose|Gather|GatherElements|GatherND|Pad|Tile|DepthToSpace|SpaceToDepth|OneHot|Trilu|Scatter|ScatterND|ScatterElements|ReverseSequence)$/

/** Operator class and FLOP of a step, for all samples of the batch. */
export function workOfStep(step: MergedStep, output: Shape): { operatorClass: OperatorClass; flops: number } {
  const { operator, reading } = step.parts[0]!
  const elements = elementCount(output)
  const shape = (index: number) => reading.inputs[index]?.shape ?? []
  const stored = (index: number) => reading.inputs[index]?.dynamic === false
  const kindOfProduct = (weights: number) => (stored(0) || stored(weights) ? 'linear' : 'attention')
  switch (operator) {
    case 'Conv':
    case 'ConvInteger':
    case 'QLinearConv':
    case 'com.microsoft:FusedConv':
    case 'DeformConv': {
      const [, perGroup = 1, ...kernel] = shape(operator === 'QLinearConv' ? 3 : 1)
      const window = elementCount(kernel)
      const grouped = reading.int('group', 1) > 1 && perGroup < NARROW_GROUP
      const operatorClass = grouped ? 'depthwise' : window === 1 ? 'pointwise' : 'conv'
      return { operatorClass, flops: 2 * elements * perGroup * window }
    }
    case 'ConvTranspose': {
      // A transposed convolution multiplies each input value with each filter of its group once.
      const [, perGroup = 1, ...kernel] = shape(1)
      return { operatorClass: 'conv', flops: 2 * elementCount(shape(0)) * perGroup * elementCount(kernel) }
    }
    case 'MatMul':
    case 'MatMulInteger':
    case 'com.microsoft:FusedMatMul': {
      const inner = shape(0).at(reading.int('transA', 0) === 1 ? -2 : -1) ?? 1
      return { operatorClass: kindOfProduct(1), flops: 2 * elements * inner }
    }
    case 'QLinearMatMul':
      return { operatorClass: kindOfProduct(3), flops: 2 * elements * (shape(0).at(-1) ?? 1) }
    case 'Gemm':
      return { operatorClass: kindOfProduct(1), flops: 2 * elements * (shape(0)[1 - reading.int('transA', 0)] ?? 1) }
    case 'Einsum': {
      const products = elementCount([...einsum(reading).sizes.values()])
      return {
        operatorClass: reading.inputs.some((input) => !input?.dynamic) ? 'linear' : 'attention',
        flops: 2 * products,
      }
    }
    case 'LSTM':
    case 'GRU':
    case 'RNN': {
      const gates = operator === 'LSTM' ? 4 : operator === 'GRU' ? 3 : 1
      const [features, hidden] = [shape(0).at(-1) ?? 1, reading.int('hidden_size', 1)]
      return { operatorClass: 'linear', flops: 2 * elements * gates * (features + hidden) }
    }
    case 'Attention':
    case 'com.microsoft:MultiHeadAttention': {
      const [queries, keys] = [shape(0), shape(1)]
      const pairs = elementCount(queries.slice(0, -1)) * (keys.at(-2) ?? 1)
      return { operatorClass: 'attention', flops: 2 * pairs * ((queries.at(-1) ?? 1) + (output.at(-1) ?? 1)) }
    }
    case 'com.microsoft:Attention': {
      const [batch = 1, positions = 1, features = 1] = shape(0)
      const width = shape(1).at(-1) ?? 1
      const products = 2 * batch * positions * features * width
      return { operatorClass: 'linear', flops: products + (4 * batch * positions ** 2 * width) / 3 }
    }
    default:
      return { operatorClass: classOfMove(step), flops: 0 }
  }
}

function classOfMove({ parts }: MergedStep): OperatorClass {
  if (parts.length > 1) return parts.some(({ operator }) => operator === 'ReduceMean') ? 'norm' : 'elementwise'
  const { operator } = parts[0]!
  const plain = operator.replace(/^com\.microsoft:(QLinear)?/, '')
  if (norms.test(plain)) return 'norm'
  if (pools.test(plain)) return 'pool'
  if (plain === 'Concat') return 'concat'
  return copies.test(plain) ? 'copy' : 'elementwise'
}

/**
 * Number of elements of the stored operand `name` that the step reads in every batch. 0 for scalars, for operands that
 * are neither floating-point nor 8-bit integers (e.g. lists of sizes), and for the table of a lookup: its selected rows
 * count as input elements.
 */
export function weightElementsOf(step: MergedStep, name: string): number {
  for (const { reading, operator } of step.parts) {
    const index = reading.node.inputs.indexOf(name)
    const value = reading.inputs[index]
    if (index < 0 || value === undefined || value.dynamic) continue
    const elements = elementCount(value.shape)
    if (elements <= 1 || !(isFloat(value.elementType) || value.elementType === 2 || value.elementType === 3)) return 0
    return operator.startsWith('Gather') && index === 0 ? 0 : elements
  }
  return 0
}

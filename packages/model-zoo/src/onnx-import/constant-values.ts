import { elementCount, type Shape } from '../shapes.js'
import { axisOf, fail, type NodeReading, permutationOf, Unknown } from './node-reading.js'
import { shapeSlice } from './output-shapes.js'
import { elementTypes, isFloat } from './read-onnx.js'
import { type SlicedAxis, slicedAxes } from './sliced-axes.js'
import { broadcastIndices, LONGEST_LIST, stridedIndices } from './tensor-value.js'

type Rule = (node: NodeReading, output: Shape) => readonly number[]

const arithmetic = (compute: (...values: number[]) => number): Rule => {
  return (node, output) => {
    const operands = node.inputs.map((input, i) => {
      const at = broadcastIndices(input!.shape, output)
      const values = node.values(i)
      return at.map((index) => values[index]!)
    })
    return Array.from({ length: elementCount(output) }, (_, i) => compute(...operands.map((values) => values[i]!)))
  }
}

const same: Rule = (node) => node.values(0)

function reduced(fold: (values: readonly number[]) => number): Rule {
  return (node) => (node.shape(0).length === 1 ? [fold(node.values(0))] : fail())
}

/** Values of the first input at the selected positions along each axis; other axes are whole. */
function picked(node: NodeReading, selected: readonly SlicedAxis[]): number[] {
  let at = [0]
  node.shape(0).forEach((size, axis) => {
    const positions =
      selected.find((each) => each.axis === axis)?.positions ?? Array.from({ length: size }, (_, i) => i)
    at = at.flatMap((index) => positions.map((position) => index * size + position))
  })
  const values = node.values(0)
  return at.map((index) => values[index]!)
}

/** Rules for the operators with which exporters compute shapes. */
const rules: Readonly<Record<string, Rule>> = {
  Identity: same,
  Reshape: same,
  Flatten: same,
  Squeeze: same,
  Unsqueeze: same,
  CastLike: same,
  Cast: (node) => {
    const to = node.int('to', elementTypes.float)
    return !isFloat(to)
      ? node.values(0).map((value) => (to === elementTypes.bool ? Number(value !== 0) : Math.trunc(value)))
      : node.values(0)
  },
  Shape: (node) => shapeSlice(node),
  Size: (node) => [elementCount(node.shape(0))],
  Constant: (node) => {
    const { tensor } = node.attribute('value') ?? {}
    if (tensor) return tensor.values() ?? fail()
    const scalar = node.attribute('value_int')?.int ?? node.attribute('value_float')?.float
    return scalar === undefined
      ? (node.ints('value_ints') ?? node.attribute('value_floats')?.floats ?? fail())
      : [scalar]
  },
  ConstantOfShape: (node, output) => {
    const value = node.attribute('value')?.tensor?.values()?.[0] ?? 0
    return new Array<number>(elementCount(output)).fill(value)
  },
  Range: (node, output) => {
    const [start, , step] = [0, 1, 2].map((i) => node.values(i)[0]!)
    return Array.from({ length: output[0]! }, (_, i) => start! + i * step!)
  },
  Add: arithmetic((a, b) => a! + b!),
  Sub: arithmetic((a, b) => a! - b!),
  Mul: arithmetic((a, b) => a! * b!),
  Div: (node, output) => {
    const whole = node.inputs.every((input) => input !== undefined && !isFloat(input.elementType))
    return arithmetic((a, b) => (whole ? Math.trunc(a! / b!) : a! / b!))(node, output)
  },
  Mod: arithmetic((a, b) => ((a! % b!) + b!) % b!),
  Pow: arithmetic((a, b) => a! ** b!),
  Min: arithmetic(Math.min),
  Max: arithmetic(Math.max),
  Neg: arithmetic((a) => -a!),
  Abs: arithmetic(Math.abs),
  Floor: arithmetic(Math.floor),
  Ceil: arithmetic(Math.ceil),
  Sqrt: arithmetic(Math.sqrt),
  Not: arithmetic((a) => Number(a === 0)),
  And: arithmetic((a, b) => Number(a !== 0 && b !== 0)),
  Or: arithmetic((a, b) => Number(a !== 0 || b !== 0)),
  Equal: arithmetic((a, b) => Number(a === b)),
  Greater: arithmetic((a, b) => Number(a! > b!)),
  GreaterOrEqual: arithmetic((a, b) => Number(a! >= b!)),
  Less: arithmetic((a, b) => Number(a! < b!)),
  LessOrEqual: arithmetic((a, b) => Number(a! <= b!)),
  Where: arithmetic((condition, a, b) => (condition === 0 ? b! : a!)),
  Expand: (node, output) => {
    const values = node.values(0)
    return broadcastIndices(node.shape(0), output).map((index) => values[index]!)
  },
  Concat: (node, output) => {
    const axis = axisOf(node.int('axis', 0), output.length)
    const outer = elementCount(output.slice(0, axis))
    return Array.from({ length: outer }, (_, block) =>
      node.inputs.flatMap((input, i) => {
        const size = elementCount(input!.shape) / outer
        return node.values(i).slice(block * size, (block + 1) * size)
      }),
    ).flat()
  },
  Gather: (node) => {
    const data = node.shape(0)
    const axis = axisOf(node.int('axis', 0), data.length)
    return picked(node, [{ axis, positions: node.values(1).map((index) => axisOf(index, data[axis]!)) }])
  },
  Slice: (node) => picked(node, slicedAxes(node)),
  Transpose: (node, output) => {
    const shape = node.shape(0)
    const strides = permutationOf(node).map((axis) => elementCount(shape.slice(axis + 1)))
    const values = node.values(0)
    return stridedIndices(output, strides).map((index) => values[index]!)
  },
  ReduceProd: reduced(elementCount),
  ReduceSum: reduced((values) => values.reduce((sum, each) => sum + each, 0)),
  ReduceMax: reduced((values) => Math.max(...values)),
  ReduceMin: reduced((values) => Math.min(...values)),
}

/** Values of the output of a node with one output, if they are known before the model runs; otherwise null. */
export function constantValues(node: NodeReading, output: Shape): readonly number[] | null {
  const rule = rules[node.operator]
  if (!rule || node.node.outputs.length > 1 || elementCount(output) > LONGEST_LIST) return null
  try {
    const values = rule(node, output)
    return values.length === elementCount(output) ? values : null
  } catch (error) {
    if (error instanceof Unknown) return null
    throw error
  }
}

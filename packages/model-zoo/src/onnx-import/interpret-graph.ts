import { InvalidInputError } from '@pctodl/platform'
import { elementCount, type Shape } from '../shapes.js'
import { constantValues } from './constant-values.js'
import { NodeReading, Unknown } from './node-reading.js'
import { shapeRules } from './output-shapes.js'
import { elementTypes, type OnnxGraph, type OnnxModel, type OnnxTensor, type OnnxValueInfo } from './read-onnx.js'
import { LONGEST_LIST, type TensorValue } from './tensor-value.js'

/** An operator that runs for every batch. */
export interface Step {
  readonly name: string
  readonly operator: string
  readonly reading: NodeReading
  /** Names of the step's input tensors. Omitted inputs are left out. */
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  /**
   * Where the output size comes from. `computed`: from a shape rule. `stated`: from the file. `assumed`: it is taken to
   * equal the input size. The last two apply if the operator is unknown, or if its size depends on values that are
   * computed at run time.
   */
  readonly outputSize: 'computed' | 'stated' | 'assumed'
}

export interface Interpretation {
  /** The operators that run for every batch. Everything that does not depend on the inputs has been computed. */
  readonly steps: readonly Step[]
  readonly tensors: ReadonlyMap<string, TensorValue>
  readonly outputs: readonly string[]
  /** Stored tensors: initializers, and constants of more than one element. */
  readonly stored: readonly OnnxTensor[]
  /** Size of the first axis of the first input, which is the batch. */
  readonly batch: number
}

/**
 * Infers the size of every tensor, as a runtime does when it loads a model. An open first axis of an input counts as
 * one sample. Other open axes get the size that `sizes` gives for their name.
 *
 * @throws InvalidInputError naming the axes whose sizes are missing
 */
export function interpretGraph({ graph, opset }: OnnxModel, sizes: Readonly<Record<string, number>>): Interpretation {
  const tensors = new Map<string, TensorValue>()
  const steps: Step[] = []
  const stored: OnnxTensor[] = []
  /** Names of the open first axes of inputs, which have the size of the batch. */
  const batchNames = new Set<string>()
  const given = graph.inputs.filter(({ name }) => !graph.initializers.some((tensor) => tensor.name === name))
  const shapes = inputShapes(given)
  given.forEach(({ name, elementType }, i) => {
    tensors.set(name, { shape: shapes[i]!, elementType, dynamic: true, values: null })
  })
  interpret(graph)
  return {
    steps,
    tensors,
    outputs: graph.outputs.map(({ name }) => name),
    stored,
    batch: shapes[0]?.[0] ?? 1,
  }

  function inputShapes(inputs: readonly OnnxValueInfo[]): Shape[] {
    for (const { axes } of inputs) if (typeof axes?.[0] === 'string') batchNames.add(axes[0])
    const missing = new Set<string>()
    const shapes = inputs.map(({ name, axes }) =>
      (axes ?? []).map((axis, i) => {
        const known = sizeOf(axis) ?? (i === 0 ? 1 : sizes[`${name}[${i}]`])
        if (known === undefined) missing.add(typeof axis === 'string' ? axis : `${name}[${i}]`)
        return known ?? 1
      }),
    )
    if (missing.size > 0) {
      const names = [...missing]
      const example = names.map((name) => `${/^\w+$/.test(name) ? name : `'${name}'`}: 128`).join(', ')
      throw new InvalidInputError('sizes', names, `a size for each of these open axes, e.g. { ${example} }`)
    }
    return shapes
  }

  function sizeOf(axis: number | string | null): number | undefined {
    if (typeof axis === 'number') return axis > 0 ? axis : undefined
    if (axis === null) return undefined
    return sizes[axis] ?? (batchNames.has(axis) ? 1 : undefined)
  }

  function interpret(graph: OnnxGraph): void {
    for (const tensor of graph.initializers) {
      stored.push(tensor)
      const values = elementCount(tensor.dims) <= LONGEST_LIST ? tensor.values() : null
      tensors.set(tensor.name, {
        shape: tensor.dims,
        elementType: tensor.elementType,
        dynamic: false,
        values: values?.length === elementCount(tensor.dims) ? values : null,
      })
    }
    const stated = new Map([...graph.valueInfo, ...graph.outputs].map((info) => [info.name, info]))
    for (const node of graph.nodes) {
      const inputs = node.inputs.map((name) => tensors.get(name))
      const reading = new NodeReading(node, inputs, opset)
      if (takenBranch(reading)) continue
      const { shapes, outputSize } = outputShapes(reading, stated)
      const dynamic = inputs.some((input) => input?.dynamic) && !['Shape', 'Size'].includes(reading.operator)
      const elementType = outputType(reading, stated)
      node.outputs.forEach((name, i) => {
        if (name === '') return
        const shape = shapes[i] ?? shapes[0] ?? []
        const values = i === 0 && outputSize === 'computed' ? constantValues(reading, shape) : null
        // Values that are computed only from sizes are known in advance, even if the sizes are those of a tensor that
        // is computed at run time.
        tensors.set(name, { shape, elementType, dynamic: dynamic && values === null, values })
      })
      const constant = node.attributes.get('value')?.tensor
      if (reading.operator === 'Constant' && constant && elementCount(constant.dims) > 1) stored.push(constant)
      const [first = ''] = node.outputs
      if (!tensors.get(first)?.dynamic) continue
      steps.push({
        name: node.name || first,
        operator: reading.operator,
        reading,
        inputs: node.inputs.filter((name) => name !== ''),
        outputs: node.outputs.filter((name) => name !== ''),
        outputSize,
      })
    }
  }

  /**
   * If the condition of an If is known in advance, replaces the node by the operators of the branch that is taken, and
   * returns true.
   */
  function takenBranch(reading: NodeReading): boolean {
    const { node, operator } = reading
    const condition = reading.inputs[0]?.values?.[0]
    if (operator !== 'If' || condition === undefined) return false
    const branch = reading.attribute(condition !== 0 ? 'then_branch' : 'else_branch')?.graph
    if (branch === undefined) return false
    interpret(branch)
    node.outputs.forEach((output, i) => {
      const inner = branch.outputs[i]?.name ?? ''
      const value = tensors.get(inner)
      if (value === undefined) return
      tensors.set(output, value)
      const same = { ...node, operator: 'Identity', inputs: [inner], outputs: [output], attributes: new Map() }
      const identity = new NodeReading(same, [value], opset)
      const step = { name: output, operator: 'Identity', reading: identity, inputs: [inner], outputs: [output] }
      if (value.dynamic) steps.push({ ...step, outputSize: 'computed' })
    })
    return true
  }

  function outputShapes(
    reading: NodeReading,
    stated: ReadonlyMap<string, OnnxValueInfo>,
  ): { shapes: readonly Shape[]; outputSize: Step['outputSize'] } {
    try {
      const shapes = shapeRules[reading.operator]?.(reading)
      if (shapes?.every((shape) => shape.every((size) => Number.isInteger(size) && size >= 0))) {
        return { shapes, outputSize: 'computed' }
      }
    } catch (error) {
      if (!(error instanceof Unknown)) throw error
    }
    const { outputs } = reading.node
    const fromFile = outputs.map((name) => stated.get(name)?.axes?.map(sizeOf))
    if (fromFile.every((shape) => shape?.every((size) => size !== undefined))) {
      return { shapes: fromFile as Shape[], outputSize: 'stated' }
    }
    const like = reading.inputs.find((input) => input?.dynamic) ?? reading.inputs[0]
    return { shapes: outputs.map(() => like?.shape ?? []), outputSize: 'assumed' }
  }
}

const comparisons = ['Equal', 'Greater', 'GreaterOrEqual', 'Less', 'LessOrEqual', 'And', 'Or', 'Not', 'IsNaN', 'IsInf']

function outputType(reading: NodeReading, stated: ReadonlyMap<string, OnnxValueInfo>): number {
  const { operator, inputs, node } = reading
  if (operator === 'Cast') return reading.int('to', elementTypes.float)
  if (['Shape', 'Size', 'ArgMax', 'ArgMin', 'NonZero'].includes(operator)) return elementTypes.int64
  if (comparisons.includes(operator)) return elementTypes.bool
  if (operator === 'Constant') {
    const { tensor } = reading.attribute('value') ?? {}
    if (tensor) return tensor.elementType
    return (reading.attribute('value_int') ?? reading.attribute('value_ints')) ? elementTypes.int64 : elementTypes.float
  }
  if (operator === 'ConstantOfShape') return reading.attribute('value')?.tensor?.elementType ?? elementTypes.float
  if (operator === 'DequantizeLinear') return inputs[1]?.elementType ?? elementTypes.float
  if (operator === 'Where') return inputs[1]?.elementType ?? elementTypes.float
  const said = stated.get(node.outputs[0] ?? '')?.elementType
  return inputs[0]?.elementType ?? (said || elementTypes.float)
}

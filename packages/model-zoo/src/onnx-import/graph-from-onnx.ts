import { InvalidInputError } from '@pctodl/platform'
import type { Layer, LayerGraph, UnknownOperator } from '../layer-graph.js'
import { type MemoryStep, peakElements } from '../peak-activations.js'
import { elementCount } from '../shapes.js'
import { type Interpretation, interpretGraph } from './interpret-graph.js'
import { type MergedStep, mergeSteps } from './merge-steps.js'
import { isFloat, readOnnx } from './read-onnx.js'
import { isKnown, isViewStep, matrixProducts, swapsLastTwo, weightElementsOf, workOfStep } from './step-work.js'

export interface GraphFromOnnxOptions {
  /** Name by which tenants refer to the network. Default: the name of the graph in the file. */
  readonly name?: string
  /**
   * Sizes of axes that the file leaves open, by the name of the axis (`sequence`) or by input and position (`ids[1]`).
   * The first axis of an input is the batch and needs no size.
   */
  readonly sizes?: Readonly<Record<string, number>>
  /** Number of samples in one run of the stored graph. Default: the first axis of its first input. */
  readonly samples?: number
}

/**
 * Reads an ONNX file as a layer graph: the work of each operator for one sample. Weights are not read, so for a model
 * with external data the `.onnx` file suffices.
 *
 * Values that do not depend on the inputs are computed in advance, as a runtime does. Views cost nothing, and functions
 * that exporters decompose (SiLU, GELU, layer norm) are one operator, as in an eager framework. An unknown operator
 * counts by the elements that it reads and writes, and is listed in `unknownOperators`.
 *
 * @throws InvalidInputError for bytes that are no ONNX model, an open axis without a size, or a graph without inputs
 */
export function graphFromOnnx(bytes: Uint8Array, options: GraphFromOnnxOptions = {}): LayerGraph {
  const model = readOnnx(bytes)
  const { name = model.graph.name || 'network', sizes = {} } = options
  for (const [axis, size] of Object.entries(sizes)) {
    if (!Number.isInteger(size) || size < 1) throw new InvalidInputError(`sizes['${axis}']`, size, 'a positive integer')
  }
  const interpretation = interpretGraph(model, sizes)
  const { samples = interpretation.batch } = options
  if (!Number.isInteger(samples) || samples < 1) throw new InvalidInputError('samples', samples, 'a positive integer')
  const steps = mergeSteps(interpretation)
  if (steps.length === 0) throw new InvalidInputError('onnx', name, 'a graph in which something depends on an input')
  const readers = new Map<string, MergedStep[]>()
  /** Maps each tensor to the tensor whose memory it shares. */
  const memory = new Map<string, string>()
  const layerOf = new Map<string, string>()
  const views = new Set<MergedStep>()
  for (const step of steps) {
    for (const name of step.inputs) readers.set(name, [...(readers.get(name) ?? []), step])
  }
  for (const step of steps) if (isViewStep(step) || onlyReadBySwappingProducts(step)) views.add(step)
  for (const step of steps) {
    const [first = ''] = step.inputs.filter(isDynamic)
    for (const output of step.outputs) {
      if (views.has(step)) memory.set(output, owner(first))
      else layerOf.set(output, step.name)
    }
  }
  const layers = layersOf()
  return {
    name,
    layers,
    parameters: parameterCount(interpretation),
    weightElements: interpretation.stored.reduce((sum, { dims }) => sum + elementCount(dims), 0),
    peakActivationElements: peakActivationElements(),
    unknownOperators: unknownOperators(),
  }

  function onlyReadBySwappingProducts(step: MergedStep): boolean {
    if (!swapsLastTwo(step)) return false
    const own = readers.get(step.outputs[0] ?? '') ?? []
    return own.length > 0 && own.every(({ parts }) => matrixProducts.has(parts[0]!.operator))
  }

  function isDynamic(name: string): boolean {
    return interpretation.tensors.get(name)?.dynamic === true
  }

  function owner(name: string): string {
    return memory.get(name) ?? name
  }

  function elements(name: string): number {
    return elementCount(interpretation.tensors.get(name)?.shape ?? [])
  }

  /**
   * Number of elements that an operator reads of a tensor. If a view repeats values, only the values in memory count.
   */
  function elementsRead(name: string, step: MergedStep): number {
    const read = Math.min(elements(name), elements(owner(name)))
    const looksUp = /^Gather/.test(step.operator) && step.reading.node.inputs[0] === name
    return looksUp ? Math.min(read, elements(step.outputs[0]!)) : read
  }

  function layersOf(): Layer[] {
    return steps
      .filter((step) => !views.has(step))
      .map((step) => {
        const outputShape = interpretation.tensors.get(step.outputs[0]!)?.shape ?? []
        const { operatorClass, flops } = workOfStep(step, outputShape)
        const dynamic = step.inputs.filter(isDynamic)
        const perSample = (elements: number) => elements / samples
        // A lookup reads only some rows of a stored table.
        const table = /^Gather/.test(step.operator) && !isDynamic(step.inputs[0]!) ? elements(step.outputs[0]!) : 0
        return {
          name: step.name,
          operator: step.operator,
          operatorClass,
          flops: perSample(flops),
          inputElements: perSample(table + dynamic.reduce((sum, name) => sum + elementsRead(name, step), 0)),
          outputElements: perSample(step.outputs.reduce((sum, name) => sum + elements(name), 0)),
          weightElements: step.inputs.reduce((sum, name) => sum + weightElementsOf(step, name), 0),
          inputs: [...new Set(dynamic.map(source))],
          outputShape,
        }
      })
  }

  /** Name of the layer or network input whose values the tensor contains. */
  function source(name: string): string {
    return layerOf.get(owner(name)) ?? owner(name)
  }

  /**
   * Largest number of elements that are needed at the same time. An activation or sum overwrites an input of its size
   * if the input is not needed any more.
   */
  function peakActivationElements(): number {
    const inMemory = steps.map((step): MemoryStep => {
      const reads = step.inputs.filter(isDynamic).map(owner)
      if (views.has(step)) return { reads, writes: [] }
      return { reads, writes: step.outputs, mayOverwrite: isPointwise(step) }
    })
    return peakElements(inMemory, elements, interpretation.outputs.map(owner)) / samples
  }

  function unknownOperators(): UnknownOperator[] {
    const moved = (layer: Layer) => layer.inputElements + layer.outputElements
    const total = layers.reduce((sum, layer) => sum + moved(layer), 0)
    const byName = new Map(layers.map((layer) => [layer.name, layer]))
    const unknown = new Map<string, { occurrences: number; elements: number; stated: boolean }>()
    for (const step of steps) {
      if (isKnown(step) && step.outputSize !== 'assumed') continue
      const entry = unknown.get(step.operator) ?? { occurrences: 0, elements: 0, stated: true }
      const layer = byName.get(step.name)
      entry.occurrences++
      entry.elements += layer === undefined ? 0 : moved(layer)
      entry.stated &&= step.outputSize !== 'assumed'
      unknown.set(step.operator, entry)
    }
    return [...unknown]
      .map(
        ([operator, { occurrences, elements, stated }]): UnknownOperator => ({
          operator,
          occurrences,
          shareOfElements: total > 0 ? elements / total : 0,
          outputSize: stated ? 'stated' : 'assumed',
        }),
      )
      .sort((a, b) => b.shareOfElements - a.shareOfElements)
  }
}

/** Number of stored floating-point values, without the statistics of batch norms, which are not parameters. */
function parameterCount({ stored, steps }: Interpretation): number {
  const statistics = new Set(
    steps.flatMap(({ operator, reading }) =>
      operator === 'BatchNormalization' ? reading.node.inputs.slice(3, 5) : [],
    ),
  )
  const learned = stored.filter(({ name, elementType }) => isFloat(elementType) && !statistics.has(name))
  return learned.reduce((sum, { dims }) => sum + elementCount(dims), 0)
}

function isPointwise(step: MergedStep): boolean {
  const { operatorClass, flops } = workOfStep(step, [])
  return flops === 0 && operatorClass === 'elementwise'
}

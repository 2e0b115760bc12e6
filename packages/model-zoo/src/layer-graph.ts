import { networkName } from '@pctodl/platform'
import { buildNetwork } from './build-network.js'
import { peakActivationElements } from './peak-activations.js'
import { inferShapes, type Shape } from './shapes.js'
import { isView, owners } from './views.js'
import { type OperatorWork, operatorWork, sumElements, type WorkOptions } from './work.js'

/** One operator that launches a kernel, and its work for one sample. */
export interface Layer extends OperatorWork {
  /** Kind of operator: a kind of the zoo, or the ONNX operators that the layer stands for (`Conv`, `Sigmoid+Mul`). */
  readonly operator: string
  /**
   * Names of the layers or network inputs that this layer reads. If it reads a view, this is the layer whose memory the
   * view uses.
   */
  readonly inputs: readonly string[]
  /** Shape of the layer's first output as read from the file, including the batch. */
  readonly outputShape: Shape
}

/**
 * Operators of one name whose work is unknown. They count only as memory traffic: the elements that they read and
 * write.
 */
export interface UnknownOperator {
  /** Name of the operator, with its domain unless it is one of ONNX's own: `com.example:Foo`. */
  readonly operator: string
  readonly occurrences: number
  /** Fraction of the activation elements read and written in the network that is due to these operators, 0..1. */
  readonly shareOfElements: number
  /** Where the output size comes from: stated in the file, or assumed equal to the input size. */
  readonly outputSize: 'stated' | 'assumed'
}

/** A network, of the zoo or from a file, as a list of operators with the work that each causes on a device. */
export interface LayerGraph {
  /** Name by which tenants refer to the network. */
  readonly name: string
  /** The operators in the order of execution. */
  readonly layers: readonly Layer[]
  /** Learned parameters. */
  readonly parameters: number
  /** Number of elements of all stored tensors: weights, biases, statistics. */
  readonly weightElements: number
  /** Largest number of activation elements per sample that are needed at the same time. */
  readonly peakActivationElements: number
  /**
   * Whether inputs are already on the device when a batch begins, as with loaders that prepare the next batch in
   * parallel. Default false.
   */
  readonly prefetched?: boolean
  /** Operators whose work is unknown; empty for networks of the zoo. */
  readonly unknownOperators: readonly UnknownOperator[]
}

/**
 * Returns a network of the zoo as a layer graph. For other networks see `graphFromOnnx`.
 *
 * @throws UnknownNameError listing the networks that exist.
 * @throws InvalidInputError if the network cannot take images of that size.
 */
export function layerGraph(name: string, options: WorkOptions = {}): LayerGraph {
  const { inputSize = 224 } = options
  const graph = buildNetwork(name)
  const shapes = inferShapes(graph, { batch: 1, height: inputSize, width: inputSize })
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]))
  const source = owners(graph, isView)
  const parameters = sumElements(graph.nodes.flatMap(({ weights }) => weights))
  return {
    name: networkName(name),
    layers: operatorWork(graph, options).map((work) => {
      const node = nodes.get(work.name)!
      const inputs = node.inputs.map((id) => source.get(id)!)
      return { ...work, operator: node.kind, inputs, outputShape: shapes.get(node.id) ?? [] }
    }),
    parameters,
    weightElements: parameters + sumElements(graph.nodes.flatMap(({ buffers }) => buffers)),
    peakActivationElements: peakActivationElements(graph, shapes),
    unknownOperators: [],
  }
}

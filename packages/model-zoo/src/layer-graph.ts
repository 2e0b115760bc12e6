import { buildNetwork } from './build-network.js'
import { networkFacts } from './network-facts.js'
import type { NetworkGraph } from './network-graph.js'
import { inferShapes, type Shape } from './shapes.js'
import { isView } from './views.js'
import { type OperatorWork, operatorWork, type WorkOptions } from './work.js'

/** One operator that launches a kernel, with its work for one sample. */
export interface Layer extends OperatorWork {
  /** Kind of operator: a kind of the zoo, or the ONNX operators that this layer stands for (`Conv`, `Sigmoid+Mul`). */
  readonly operator: string
  /** Names of the layers or network inputs that it reads. The source of a view is named, not the view. */
  readonly inputs: readonly string[]
  /** Shape of the layer's first output as read from the file, including the batch. */
  readonly outputShape: Shape
}

/**
 * Operators of one name whose work is unknown. They count by the elements that they read and write, without arithmetic.
 */
export interface UnknownOperator {
  /** Name of the operator, with its domain unless that is ONNX's own: `com.example:Foo`. */
  readonly operator: string
  readonly occurrences: number
  /** Share of the network's activation traffic (elements read and written) that these operators cause, 0..1. */
  readonly shareOfElements: number
  /** Source of the output size: stated in the file, or assumed equal to the input size. */
  readonly outputSize: 'stated' | 'assumed'
}

/** A network, from the zoo or a file, as a list of operators with the work that each causes on a device. */
export interface LayerGraph {
  /** Name for tenants. */
  readonly name: string
  /** In the order of execution. */
  readonly layers: readonly Layer[]
  /** Learned parameters. */
  readonly parameters: number
  /** Number of elements of all stored tensors. */
  readonly weightElements: number
  /** Largest number of activation elements that are live at the same time, per sample. */
  readonly peakActivationElements: number
  /**
   * Whether inputs are on the device when a batch begins, as with loaders that prepare the next batch in parallel.
   * Default false.
   */
  readonly prefetched?: boolean
  /** Empty for networks of the zoo. */
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
  const facts = networkFacts(name, options)
  const shapes = inferShapes(graph, { batch: 1, height: inputSize, width: inputSize })
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]))
  const source = throughViews(graph)
  return {
    name: facts.name,
    layers: operatorWork(graph, options).map((work) => {
      const node = nodes.get(work.name)!
      const inputs = node.inputs.map((id) => source.get(id) ?? id)
      return { ...work, operator: node.kind, inputs, outputShape: shapes.get(node.id) ?? [] }
    }),
    parameters: facts.parameters,
    weightElements: facts.weightBytes / 2,
    peakActivationElements: facts.peakActivationBytes / 2,
    unknownOperators: [],
  }
}

/** Maps each view's id to the node whose memory it uses. */
function throughViews(graph: NetworkGraph): ReadonlyMap<string, string> {
  const source = new Map<string, string>()
  for (const node of graph.nodes) {
    const [first = ''] = node.inputs
    if (isView(node)) source.set(node.id, source.get(first) ?? first)
  }
  return source
}

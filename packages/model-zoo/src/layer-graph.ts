import { buildNetwork } from './build-network.js'
import { networkFacts } from './network-facts.js'
import type { NetworkGraph } from './network-graph.js'
import { inferShapes, type Shape } from './shapes.js'
import { isView } from './views.js'
import { type OperatorWork, operatorWork, type WorkOptions } from './work.js'

/** One operator that launches a kernel, with its work for one sample. */
export interface Layer extends OperatorWork {
  /** Operator: a kind of the zoo, or the ONNX operators that it represents (`Conv`, `Sigmoid+Mul`). */
  readonly operator: string
  /** Names of the layers or inputs that it reads; views are resolved to their source. */
  readonly inputs: readonly string[]
  /** Shape of its first output as read from the file, including the batch. */
  readonly outputShape: Shape
}

/** Operators of one name with unknown work: they count as the elements that they read and write, without arithmetic. */
export interface UnknownOperator {
  /** With its domain, unless that is ONNX's own: `com.example:Foo`. */
  readonly operator: string
  readonly occurrences: number
  /** Share of all activation elements that the network reads and writes, 0..1. */
  readonly shareOfElements: number
  /** Source of its output size: stated in the file, or assumed to be that of the input. */
  readonly outputSize: 'stated' | 'assumed'
}

/** A network, of the zoo or any other, as the work of its operators on a device. */
export interface LayerGraph {
  /** Name for tenants. */
  readonly name: string
  /** In the order of execution. */
  readonly layers: readonly Layer[]
  /** Learned parameters. */
  readonly parameters: number
  /** Elements of all stored tensors. */
  readonly weightElements: number
  /** Largest number of activation elements alive at once, per sample. */
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
 * A network of the zoo as a layer graph, like `graphFromOnnx` for other networks.
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

/** View id -> the node whose memory it uses. */
function throughViews(graph: NetworkGraph): ReadonlyMap<string, string> {
  const source = new Map<string, string>()
  for (const node of graph.nodes) {
    const [first = ''] = node.inputs
    if (isView(node)) source.set(node.id, source.get(first) ?? first)
  }
  return source
}

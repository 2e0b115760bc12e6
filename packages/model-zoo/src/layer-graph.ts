import { buildNetwork } from './build-network.js'
import { networkFacts } from './network-facts.js'
import type { NetworkGraph } from './network-graph.js'
import { inferShapes, type Shape } from './shapes.js'
import { isView } from './views.js'
import { type OperatorWork, operatorWork, type WorkOptions } from './work.js'

/** One operator that launches a kernel, and its work on one sample. */
export interface Layer extends OperatorWork {
  /** What it does: a kind of the zoo, or the ONNX operators that it stands for (`Conv`, `Sigmoid+Mul`). */
  readonly operator: string
  /** Names of the layers, or of the inputs, that it reads. Views are looked through. */
  readonly inputs: readonly string[]
  /** Of its first output, as the graph was read: with the batch. */
  readonly outputShape: Shape
}

/** Operators of one name whose work is not known: they count as what they read and write, without arithmetic. */
export interface UnknownOperator {
  /** With its domain where that is not ONNX's own: `com.example:Foo`. */
  readonly operator: string
  readonly occurrences: number
  /** Of all activation elements that the network reads and writes, 0..1. */
  readonly shareOfElements: number
  /** Where the size of its output comes from: the file states it, or it is taken to be that of the input. */
  readonly outputSize: 'stated' | 'assumed'
}

/** A network, one of the zoo or any other, as what its operators ask of a device. */
export interface LayerGraph {
  /** What a tenant calls it. */
  readonly name: string
  /** In the order of execution. */
  readonly layers: readonly Layer[]
  /** Learned parameters. */
  readonly parameters: number
  /** Elements of all stored tensors. */
  readonly weightElements: number
  /** Largest number of activation elements alive at once, per sample. */
  readonly peakActivationElements: number
  /** Its inputs are on the device when a batch begins, as where loaders prepare the next one meanwhile. Default false. */
  readonly prefetched?: boolean
  /** Empty for the zoo's own. */
  readonly unknownOperators: readonly UnknownOperator[]
}

/**
 * A network of the zoo in the form in which any network can be had, see `graphFromOnnx`.
 *
 * @throws UnknownNameError listing the networks that exist.
 * @throws InvalidInputError where the network cannot take images of that size.
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

/** By id of a view: the node whose memory it looks at. */
function throughViews(graph: NetworkGraph): ReadonlyMap<string, string> {
  const source = new Map<string, string>()
  for (const node of graph.nodes) {
    const [first = ''] = node.inputs
    if (isView(node)) source.set(node.id, source.get(first) ?? first)
  }
  return source
}

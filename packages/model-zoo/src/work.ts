import type { GraphNode, NetworkGraph } from './network-graph.js'
import { elementCount, inferShapes, inputShapes, type Shape } from './shapes.js'
import { isView } from './views.js'

/**
 * Class of an operator by the resource that limits it. On a board, all operators of a class have the same efficiency.
 */
export type OperatorClass =
  /** Convolution over more than one pixel, in which every output depends on all input channels. */
  | 'conv'
  /** 1x1 convolution. */
  | 'pointwise'
  /** Convolution with one filter per channel. */
  | 'depthwise'
  | 'linear'
  /** The two batched products of attention. */
  | 'attention'
  /** Batch norm, layer norm, softmax. */
  | 'norm'
  /** Activations, sums, products. */
  | 'elementwise'
  | 'pool'
  | 'concat'
  /** Values copied to another layout. */
  | 'copy'

/** The work of one eager operator on one sample. */
export interface OperatorWork {
  /** Id of the node. */
  readonly name: string
  readonly operatorClass: OperatorClass
  /**
   * Arithmetic, FLOP. Two for each multiply-accumulate of a convolution or a matrix product; 0 for biases, norms,
   * activations and pools.
   */
  readonly flops: number
  /** Activation elements read. */
  readonly inputElements: number
  /** Activation elements written. */
  readonly outputElements: number
  /**
   * Elements that are read once per batch, whatever its size: weights, biases, norm statistics, and the
   * relative-position bias. For the operator that looks up this bias in its table, they are the elements that it
   * writes.
   */
  readonly weightElements: number
}

export interface WorkOptions {
  /** Height and width of the images, pixels; default 224. */
  readonly inputSize?: number
}

/**
 * Returns the work of every operator that launches a kernel, per sample, in order of execution. Views (flatten, head
 * splitting) launch no kernel and are not listed.
 *
 * @throws InvalidInputError if the network cannot take images of that size.
 */
export function operatorWork(graph: NetworkGraph, options: WorkOptions = {}): OperatorWork[] {
  const { inputSize = 224 } = options
  const shapes = inferShapes(graph, { batch: 1, height: inputSize, width: inputSize })
  const perBatch = batchIndependentNodes(graph)
  const launched = graph.nodes.filter((node) => node.kind !== 'input' && !isView(node))
  return launched.map((node) => {
    const inputs = inputShapes(node, shapes)
    const output = shapes.get(node.id) ?? []
    let weightElements = sumElements(node.weights) + sumElements(node.buffers)
    let inputElements = 0
    node.inputs.forEach((id, index) => {
      const elements = elementCount(inputs[index] ?? [])
      if (perBatch.has(id)) weightElements += elements
      else inputElements += elements
    })
    let outputElements = elementCount(output)
    if (perBatch.has(node.id)) {
      weightElements += outputElements
      outputElements = 0
    }
    if (node.kind === 'layerNorm' && node.attributes.copiesInput) {
      inputElements *= 2
      outputElements *= 2
    }
    const flops = 2 * multiplyAccumulates(node, inputs, output)
    return { name: node.id, operatorClass: classOf(node), flops, inputElements, outputElements, weightElements }
  })
}

/** Ids of the nodes that do not depend on the images: the relative-position bias and its copy. */
function batchIndependentNodes(graph: NetworkGraph): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const node of graph.nodes) {
    if (node.kind !== 'input' && node.inputs.every((id) => ids.has(id))) ids.add(node.id)
  }
  return ids
}

function multiplyAccumulates(node: GraphNode, inputs: readonly Shape[], output: Shape): number {
  switch (node.kind) {
    case 'conv2d': {
      const { inChannels, groups, kernel } = node.attributes
      return elementCount(output) * (inChannels / groups) * kernel[0] * kernel[1]
    }
    case 'linear':
      return elementCount(output) * node.attributes.inFeatures
    case 'matmul':
      return elementCount(output) * (inputs[0]?.at(-1) ?? 0)
    default:
      return 0
  }
}

function classOf(node: GraphNode): OperatorClass {
  switch (node.kind) {
    case 'conv2d': {
      const { groups, kernel } = node.attributes
      if (groups > 1) return 'depthwise'
      return kernel[0] * kernel[1] === 1 ? 'pointwise' : 'conv'
    }
    case 'linear':
      return 'linear'
    case 'matmul':
      return 'attention'
    case 'batchNorm':
    case 'layerNorm':
    case 'softmax':
      return 'norm'
    case 'maxPool':
    case 'avgPool':
    case 'adaptiveAvgPool':
    case 'spatialMean':
      return 'pool'
    case 'concat':
      return 'concat'
    case 'contiguous':
    case 'windowPartition':
    case 'windowMerge':
    case 'mergeHeads':
    case 'relativePositionBias':
    case 'pairsToHeads':
      return 'copy'
    default:
      return 'elementwise'
  }
}

/** Total number of elements of several tensors. */
export function sumElements(tensors: readonly { readonly elements: number }[]): number {
  return tensors.reduce((sum, tensor) => sum + tensor.elements, 0)
}

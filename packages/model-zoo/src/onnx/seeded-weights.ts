import { SeededRandom, seedFrom } from '@pctodl/numerics'
import type { GraphNode, NetworkGraph, WeightTensor } from '../network-graph.js'
import { elementCount, type Shape } from '../shapes.js'
import { meanSquares } from './mean-squares.js'
import type { Payload } from './proto-message.js'
import { floatValues } from './tensor-values.js'

/** A stored tensor and its values, uniform in [center - halfWidth, center + halfWidth). */
export interface SeededTensor {
  readonly tensor: WeightTensor
  readonly values: Payload
}

interface Range {
  readonly center: number
  readonly halfWidth: number
}

/**
 * Half width of the range of random biases and norm weights. It is not 0, because a compiler would remove biases and
 * norms that have no effect.
 */
const SPREAD = 0.1
/**
 * Fraction of a norm's output variance that does not depend on the image. Because SiLU and gates grow faster than their
 * input, a small error of the estimated mean squares would grow from layer to layer; the constant part damps this growth.
 */
const CONSTANT_SHARE = 0.2

/**
 * Random values for every tensor of the network, chosen so that activations stay near 1 in magnitude at any depth. Each
 * tensor has a random stream named after it, so its values depend neither on other tensors nor on where they are
 * stored.
 */
export function seededWeights(
  graph: NetworkGraph,
  shapes: ReadonlyMap<string, Shape>,
  seed: number,
): readonly SeededTensor[] {
  const squares = meanSquares(graph, shapes)
  return graph.nodes.flatMap((node) => {
    const ranges = rangesOf(node, squares.get(node.inputs[0] ?? '') ?? 1)
    return [...node.weights, ...node.buffers].map((tensor, i) => {
      const range = ranges[i] ?? around(0)
      return { tensor, values: uniformValues(tensor, range, seedFrom(graph.name, seed, tensor.name)) }
    })
  })
}

/**
 * Ranges of the random values of a node's weights and buffers, in their order.
 *
 * @param inputSquare mean square of the node's input
 */
function rangesOf(node: GraphNode, inputSquare: number): readonly Range[] {
  switch (node.kind) {
    case 'conv2d':
    case 'linear':
      return [heRange(node.weights[0]?.shape ?? [], inputSquare), around(0)]
    case 'batchNorm':
      return [...normRanges(), around(0), { center: inputSquare, halfWidth: SPREAD * inputSquare }]
    case 'layerNorm':
      return normRanges()
    default:
      return [around(0)]
  }
}

/**
 * The uniform distribution of He et al. (arXiv 1502.01852), which keeps the output's variance at 1. The output is a sum
 * over the fan-in, with weights of variance halfWidth^2 / 3. After a ReLU, the input's mean square is 1/2; the half width
 * is then sqrt(6 / fan-in), as in the paper.
 */
function heRange(shape: readonly number[], inputSquare: number): Range {
  const fanIn = elementCount(shape.slice(1))
  return { center: 0, halfWidth: Math.sqrt(3 / (fanIn * inputSquare)) }
}

/**
 * Ranges of weight and bias of a norm whose output has variance 1. The bias contributes `CONSTANT_SHARE` of this
 * variance.
 */
function normRanges(): readonly Range[] {
  return [around(Math.sqrt(1 - CONSTANT_SHARE)), { center: 0, halfWidth: Math.sqrt(3 * CONSTANT_SHARE) }]
}

function around(center: number): Range {
  return { center, halfWidth: SPREAD }
}

function uniformValues(tensor: WeightTensor, { center, halfWidth }: Range, seed: number): Payload {
  return {
    byteLength: 4 * tensor.elements,
    writeTo: (target) => {
      const random = new SeededRandom(seed)
      floatValues(tensor.elements, () => center + halfWidth * (2 * random.uniform() - 1)).writeTo(target)
    },
  }
}

import type { GraphNode, NetworkGraph } from '../network-graph.js'
import { elementCount, inputShapes, type Shape } from '../shapes.js'

/** Mean and variance of the values of a tensor, taken over images, channels and positions together. */
export interface Moments {
  readonly mean: number
  readonly variance: number
}

const standard: Moments = { mean: 0, variance: 1 }

export function secondMoment({ mean, variance }: Moments): number {
  return mean * mean + variance
}

/**
 * Estimates the moments of every node's output. It assumes images of mean 0 and variance 1, and weights for which every
 * convolution, linear layer and norm has an output of mean 0 and variance 1. It also assumes that values are normal and
 * independent, which overestimates the variance after averaging. The estimate is accurate enough only for choosing
 * random weights.
 */
export function activationMoments(
  graph: NetworkGraph,
  shapes: ReadonlyMap<string, Shape>,
): ReadonlyMap<string, Moments> {
  const moments = new Map<string, Moments>()
  for (const node of graph.nodes) {
    const inputs = node.inputs.map((id) => moments.get(id) ?? standard)
    moments.set(node.id, outputMoments(node, inputs, inputShapes(node, shapes)))
  }
  return moments
}

function outputMoments(node: GraphNode, inputs: readonly Moments[], shapes: readonly Shape[]): Moments {
  const [first = standard, second = standard] = inputs
  switch (node.kind) {
    case 'relu':
      return momentsAfter((x) => Math.max(x, 0), first)
    case 'relu6':
      return momentsAfter((x) => Math.min(Math.max(x, 0), 6), first)
    case 'silu':
      return momentsAfter((x) => x * sigmoid(x), first)
    case 'gelu':
      // The usual approximation of the normal distribution function by a sigmoid is accurate enough here.
      return momentsAfter((x) => x * sigmoid(1.702 * x), first)
    case 'sigmoid':
      return momentsAfter(sigmoid, first)
    case 'tanh':
      return momentsAfter(Math.tanh, first)
    case 'add':
      return { mean: first.mean + second.mean, variance: first.variance + second.variance }
    case 'mul':
      return product(first, second)
    case 'scale': {
      const { factor } = node.attributes
      return { mean: factor * first.mean, variance: factor ** 2 * first.variance }
    }
    case 'concat':
      return mixture(inputs, shapes.map(elementCount))
    case 'maxPool':
      return momentsOfMaximum(node.attributes.kernel[0] * node.attributes.kernel[1], first)
    case 'matmul': {
      // The product of queries and keys is a sum of many terms. In the product with the values, the softmax weights,
      // which sum to one, average the values; their moments are assumed to stay the same.
      if (!node.attributes.transposeB) return second
      const inner = shapes[0]?.at(-1) ?? 1
      const term = product(first, second)
      return { mean: inner * term.mean, variance: inner * term.variance }
    }
    case 'softmax': {
      const positions = shapes[0]?.at(-1) ?? 1
      return { mean: 1 / positions, variance: 0 }
    }
    case 'input':
    case 'conv2d':
    case 'linear':
    case 'batchNorm':
    case 'layerNorm':
    case 'relativePositionBias':
      return standard
    default:
      return first
  }
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x))
}

function product(a: Moments, b: Moments): Moments {
  const mean = a.mean * b.mean
  return { mean, variance: secondMoment(a) * secondMoment(b) - mean ** 2 }
}

function mixture(parts: readonly Moments[], weights: readonly number[]): Moments {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const average = (of: (part: Moments) => number) =>
    parts.reduce((sum, part, i) => sum + ((weights[i] ?? 0) / total) * of(part), 0)
  const mean = average((part) => part.mean)
  return { mean, variance: average(secondMoment) - mean ** 2 }
}

/**
 * Grid from -6 to 6 standard deviations in steps of a quarter. For smooth functions, the trapezoidal rule on it is
 * exact to six digits.
 */
const grid = Array.from({ length: 49 }, (_, i) => (i - 24) / 4)
const density = grid.map((z) => Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI) / 4)

function momentsAfter(activation: (x: number) => number, { mean, variance }: Moments): Moments {
  const values = grid.map((z) => activation(mean + z * Math.sqrt(variance)))
  return momentsOn(values, density)
}

/**
 * Moments of the largest of `count` independent values. Its density is count * f(z) * F(z)^(count - 1), where f and F
 * are density and distribution function of one value.
 */
function momentsOfMaximum(count: number, { mean, variance }: Moments): Moments {
  let below = 0
  const densityOfMaximum = density.map((mass) => {
    below += mass
    return below ** count - (below - mass) ** count
  })
  return momentsOn(
    grid.map((z) => mean + z * Math.sqrt(variance)),
    densityOfMaximum,
  )
}

function momentsOn(values: readonly number[], masses: readonly number[]): Moments {
  const mean = values.reduce((sum, value, i) => sum + value * (masses[i] ?? 0), 0)
  const variance = values.reduce((sum, value, i) => sum + (value - mean) ** 2 * (masses[i] ?? 0), 0)
  return { mean, variance }
}

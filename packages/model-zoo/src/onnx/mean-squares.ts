import type { NetworkGraph, OperatorKind } from '../network-graph.js'
import { inputShapes, type Shape } from '../shapes.js'

/** Mean square of an activation's output divided by that of its input, if the input is normal with mean 0. */
const activations: { readonly [Kind in OperatorKind]?: number } = { relu: 0.5, relu6: 0.5, silu: 0.36, gelu: 0.43 }

/** The same for a ReLU of a sum with an earlier ReLU's output, which is seldom negative. */
const RELU_OF_SUM = 0.85

/** Mean square of a sigmoid's output for inputs of mean square 1. */
const SIGMOID = 0.29

/**
 * Estimates the mean square of the values of every node's output, by node id. It assumes images of mean square 1, and
 * weights for which every convolution, linear layer and norm has an output of mean square 1. The estimate is accurate
 * enough only for choosing random weights.
 */
export function meanSquares(graph: NetworkGraph, shapes: ReadonlyMap<string, Shape>): ReadonlyMap<string, number> {
  const squares = new Map<string, number>()
  const sums = new Set<string>()
  for (const node of graph.nodes) {
    const [first = 1, second = 1] = node.inputs.map((id) => squares.get(id)!)
    const output = (): number => {
      switch (node.kind) {
        case 'input':
        case 'conv2d':
        case 'linear':
        case 'batchNorm':
        case 'layerNorm':
        case 'relativePositionBias':
          return 1
        case 'sigmoid':
          return SIGMOID
        case 'add':
          sums.add(node.id)
          return first + second
        case 'mul':
          return first * second
        case 'scale':
          return node.attributes.factor ** 2 * first
        case 'maxPool':
          return node.attributes.kernel[0] * first
        case 'matmul':
          // Without transposition, the first factor holds the weights of an average.
          return node.attributes.transposeB ? inputShapes(node, shapes)[0]!.at(-1)! * first * second : second
        default:
          return (
            (sums.has(node.inputs[0]!) && node.kind === 'relu' ? RELU_OF_SUM : (activations[node.kind] ?? 1)) * first
          )
      }
    }
    squares.set(node.id, output())
  }
  return squares
}

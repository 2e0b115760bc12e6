import { InvalidInputError } from '@pctodl/platform'
import type { Extent, GraphNode, NetworkGraph } from './network-graph.js'

/** Sizes of a tensor, outermost axis first. */
export type Shape = readonly number[]

/** Input of a network: `batch` RGB images of `height` x `width` pixels. */
export interface InputSize {
  readonly batch: number
  readonly height: number
  readonly width: number
}

/**
 * Returns the output shape of every node, by node id.
 *
 * @throws InvalidInputError if a size is not a positive integer, or the network cannot take it.
 */
export function inferShapes(graph: NetworkGraph, size: InputSize): ReadonlyMap<string, Shape> {
  assertInputSize(graph, size)
  const shapes = new Map<string, Shape>()
  for (const node of graph.nodes) shapes.set(node.id, outputShape(node, shapes, size))
  return shapes
}

/** Shapes of a node's inputs, in their order. */
export function inputShapes(node: GraphNode, shapes: ReadonlyMap<string, Shape>): Shape[] {
  return node.inputs.map((id) => shapeOf(id, shapes))
}

/** Number of elements of a tensor. */
export function elementCount(shape: Shape): number {
  let count = 1
  for (const size of shape) count *= size
  return count
}

function assertInputSize(graph: NetworkGraph, size: InputSize): void {
  assertPositiveInteger('batch', size.batch)
  const { minimum, multipleOf } = graph.inputSize
  for (const axis of ['height', 'width'] as const) {
    const pixels = size[axis]
    assertPositiveInteger(axis, pixels)
    if (pixels < minimum || pixels % multipleOf !== 0) {
      const expected = multipleOf > 1 ? `a multiple of ${multipleOf} pixels` : `at least ${minimum} pixels`
      throw new InvalidInputError(axis, pixels, `${expected}, as required by ${graph.name}; resize the images`)
    }
  }
}

function assertPositiveInteger(field: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) throw new InvalidInputError(field, value, 'a positive integer')
}

function shapeOf(id: string, shapes: ReadonlyMap<string, Shape>): Shape {
  const shape = shapes.get(id)
  if (shape === undefined)
    throw new InvalidInputError('graph', id, 'nodes in topological order: this one is read too early')
  return shape
}

function outputShape(node: GraphNode, shapes: ReadonlyMap<string, Shape>, size: InputSize): Shape {
  const [first = [], ...others] = inputShapes(node, shapes)
  const [batch = 1, channels = 1, height = 1, width = 1] = first
  switch (node.kind) {
    case 'input':
      return [size.batch, node.attributes.channels, size.height, size.width]
    case 'conv2d':
      return [batch, node.attributes.outChannels, ...windowed([height, width], node.attributes)]
    case 'maxPool':
    case 'avgPool':
      return [batch, channels, ...windowed([height, width], node.attributes)]
    case 'adaptiveAvgPool':
      return [batch, channels, ...node.attributes.outputSize]
    case 'spatialMean':
      return [batch, channels]
    case 'flatten':
      return [batch, elementCount(first) / batch]
    case 'linear':
      return [...first.slice(0, -1), node.attributes.outFeatures]
    case 'concat':
      return [batch, channels + others.reduce((sum, other) => sum + (other[1] ?? 0), 0), height, width]
    case 'add':
    case 'mul':
      return broadcast(node, [first, ...others])
    case 'windowPartition': {
      const { size: side } = node.attributes
      return [batch, (height / side) * (width / side), side * side, channels]
    }
    case 'windowMerge':
      return shapeOf(node.attributes.restores, shapes)
    case 'splitHeads': {
      // Within attention the axes are batch, windows, positions, features.
      const { parts, heads } = node.attributes
      return [batch, channels, heads, height, width / (parts * heads)]
    }
    case 'mergeHeads': {
      const [, windows = 1, heads = 1, positions = 1, features = 1] = first
      return [batch, windows, positions, heads * features]
    }
    case 'matmul': {
      const columns = others[0]?.at(node.attributes.transposeB ? -2 : -1) ?? 1
      return [...first.slice(0, -1), columns]
    }
    case 'relativePositionBias':
      return [node.attributes.size ** 4, node.attributes.heads]
    case 'pairsToHeads':
      return [node.attributes.heads, node.attributes.size ** 2, node.attributes.size ** 2]
    case 'batchNorm':
    case 'layerNorm':
    case 'relu':
    case 'relu6':
    case 'silu':
    case 'gelu':
    case 'sigmoid':
    case 'tanh':
    case 'scale':
    case 'contiguous':
    case 'softmax':
      return first
  }
}

/** Output height and width of a window that slides over a feature map with padding. */
function windowed(
  [height, width]: Extent,
  { kernel, stride, padding }: { readonly kernel: Extent; readonly stride: Extent; readonly padding: Extent },
): Extent {
  return [
    Math.floor((height + 2 * padding[0] - kernel[0]) / stride[0]) + 1,
    Math.floor((width + 2 * padding[1] - kernel[1]) / stride[1]) + 1,
  ]
}

function broadcast(node: GraphNode, shapes: readonly Shape[]): Shape {
  const shape = broadcastShapes(shapes)
  if (shape !== null) return shape
  throw new InvalidInputError(node.id, shapes, 'two shapes that broadcast; the graph does not fit together')
}

/**
 * The common shape to which shapes are broadcast. Axes are matched from the last one. Null if the shapes do not match.
 */
export function broadcastShapes(shapes: readonly Shape[]): number[] | null {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length))
  const out: number[] = new Array(rank).fill(1)
  for (const shape of shapes) {
    for (let i = 0; i < shape.length; i++) {
      const axis = i + rank - shape.length
      const size = shape[i]!
      if (size === out[axis] || size === 1) continue
      if (out[axis] !== 1) return null
      out[axis] = size
    }
  }
  return out
}

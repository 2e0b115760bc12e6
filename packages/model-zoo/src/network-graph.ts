import type { NetworkName } from '@pctodl/platform'

/** Height and width, in that order. */
export type Extent = readonly [height: number, width: number]

/**
 * Operators of the seven networks, with their attributes. Each operator is one call of an eager framework in inference
 * mode. Dropout and stochastic depth are left out, because they do nothing in inference. Tensors are [batch, channels,
 * height, width]; within attention [batch, windows, positions, features].
 */
export interface OperatorAttributes {
  /** The image batch. */
  input: { readonly channels: number }
  conv2d: {
    readonly inChannels: number
    readonly outChannels: number
    readonly kernel: Extent
    readonly stride: Extent
    readonly padding: Extent
    /** Number of groups: 1 for a dense convolution, `inChannels` for a depthwise one. */
    readonly groups: number
    readonly bias: boolean
  }
  batchNorm: { readonly channels: number; readonly epsilon: number }
  /**
   * Layer norm over the last axis. `copiesInput`: the input is strided, so that eager frameworks first copy it to
   * contiguous memory in the same call.
   */
  layerNorm: { readonly features: number; readonly epsilon: number; readonly copiesInput: boolean }
  /** Linear layer over the last axis. */
  linear: { readonly inFeatures: number; readonly outFeatures: number; readonly bias: boolean }
  relu: { readonly inPlace: boolean }
  relu6: { readonly inPlace: boolean }
  silu: { readonly inPlace: boolean }
  /** GELU in its exact form, with the error function. */
  gelu: { readonly inPlace: false }
  sigmoid: { readonly inPlace: false }
  tanh: { readonly inPlace: false }
  /** Sum of two tensors with broadcasting. If it is in place, it overwrites the first tensor. */
  add: { readonly inPlace: boolean }
  /** Product of two tensors with broadcasting. */
  mul: { readonly inPlace: false }
  /** Product with a constant. */
  scale: { readonly factor: number }
  /** Concatenation along the channels. */
  concat: { readonly axis: 1 }
  maxPool: { readonly kernel: Extent; readonly stride: Extent; readonly padding: Extent }
  /** Average pooling in which the zeros of the padding count as values. */
  avgPool: { readonly kernel: Extent; readonly stride: Extent; readonly padding: Extent }
  adaptiveAvgPool: { readonly outputSize: Extent }
  /** Mean over height and width; these axes are removed. */
  spatialMean: { readonly axes: readonly [2, 3] }
  /** Joins all axes from `startAxis` on into one; a view. */
  flatten: { readonly startAxis: 1 }
  /**
   * Cuts a map [b, c, h, w] into windows [b, windows, size * size, c]; a copy. `window`: a window is a `size` x `size`
   * tile of adjacent positions. `grid`: a window has one position from each cell of a `size` x `size` grid over the
   * feature map, so it spans the whole map.
   */
  windowPartition: { readonly size: number; readonly layout: 'window' | 'grid' }
  /** The inverse of `windowPartition`; a copy. The output has the shape of node `restores`. */
  windowMerge: { readonly size: number; readonly layout: 'window' | 'grid'; readonly restores: string }
  /**
   * Takes part number `part` of `parts` equal parts of the last axis, and splits it into heads: [b, w, p, f] to [b, w,
   * heads, p, f / heads]; a view.
   */
  splitHeads: { readonly part: number; readonly parts: number; readonly heads: number }
  /** Joins the heads: [b, w, heads, p, f] to [b, w, p, heads * f]; a copy. */
  mergeHeads: { readonly heads: number }
  /** Copies a view to contiguous memory, in the order of its axes. */
  contiguous: Record<never, never>
  /** Batched product of the last two axes. */
  matmul: { readonly transposeB: boolean }
  softmax: { readonly axis: -1 }
  /**
   * Looks up a learned bias for each pair of positions in a `size` x `size` window. The bias of positions that differ
   * by (dy, dx) is in table row (dy + size - 1) * (2 size - 1) + dx + size - 1. The output has shape [size^4, heads].
   */
  relativePositionBias: { readonly size: number; readonly heads: number }
  /** Moves heads to the front: [pairs, heads] to [heads, positions, positions]; a copy. */
  pairsToHeads: { readonly size: number; readonly heads: number }
}

export type OperatorKind = keyof OperatorAttributes

/** A learned tensor, or a statistic fixed in training. `name` is its name in the torchvision state dictionary. */
export interface WeightTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly elements: number
}

export interface NodeOf<Kind extends OperatorKind> {
  /**
   * Identifier that is unique in the graph: the path of the torchvision module if there is one, otherwise a similar
   * path.
   */
  readonly id: string
  readonly kind: Kind
  /** Ids of the nodes whose outputs this node reads, in the order of its arguments. */
  readonly inputs: readonly string[]
  readonly attributes: OperatorAttributes[Kind]
  /** Learned parameters. */
  readonly weights: readonly WeightTensor[]
  /** Statistics fixed in training: running mean and variance of a batch norm. */
  readonly buffers: readonly WeightTensor[]
}

/** One eager operator. TypeScript narrows it by `kind`. */
export type GraphNode = { [Kind in OperatorKind]: NodeOf<Kind> }[OperatorKind]

/** A network as the list of its operators. */
export interface NetworkGraph {
  readonly name: NetworkName
  /**
   * Nodes in topological order: each node comes after its inputs. The first is the input, and the last gives the 1000
   * class scores.
   */
  readonly nodes: readonly GraphNode[]
  /** Allowed heights and widths, pixels: at least `minimum`, and a multiple of `multipleOf`. */
  readonly inputSize: { readonly minimum: number; readonly multipleOf: number }
}

import type { NetworkName } from '@pctodl/platform'

/** Height and width, in that order. */
export type Extent = readonly [height: number, width: number]

/**
 * Operators of the seven networks with their attributes. Each is one call of an eager framework in inference mode;
 * dropout and stochastic depth have no effect there and do not occur. Tensors are [batch, channels, height, width],
 * within attention [batch, windows, positions, features].
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
    /** 1 for a dense convolution, `inChannels` for a depthwise one. */
    readonly groups: number
    readonly bias: boolean
  }
  batchNorm: { readonly channels: number; readonly epsilon: number }
  /** Over the last axis. `copiesInput`: eager frameworks first make a strided input contiguous, in the same call. */
  layerNorm: { readonly features: number; readonly epsilon: number; readonly copiesInput: boolean }
  /** Over the last axis. */
  linear: { readonly inFeatures: number; readonly outFeatures: number; readonly bias: boolean }
  relu: { readonly inPlace: boolean }
  relu6: { readonly inPlace: boolean }
  silu: { readonly inPlace: boolean }
  /** The exact form, with the error function. */
  gelu: { readonly inPlace: false }
  sigmoid: { readonly inPlace: false }
  tanh: { readonly inPlace: false }
  /** Sum of two tensors that broadcast. In place, the first holds the result. */
  add: { readonly inPlace: boolean }
  /** Product of two tensors that broadcast. */
  mul: { readonly inPlace: false }
  /** Product with a constant. */
  scale: { readonly factor: number }
  /** Concatenation along the channels. */
  concat: { readonly axis: 1 }
  maxPool: { readonly kernel: Extent; readonly stride: Extent; readonly padding: Extent }
  /** The zeros of the padding count in the average. */
  avgPool: { readonly kernel: Extent; readonly stride: Extent; readonly padding: Extent }
  adaptiveAvgPool: { readonly outputSize: Extent }
  /** Mean over height and width; these axes are removed. */
  spatialMean: { readonly axes: readonly [2, 3] }
  /** From the given axis on; a view. */
  flatten: { readonly startAxis: 1 }
  /**
   * [b, c, h, w] to [b, windows, size * size, c], a copy. `window`: a window is a `size` x `size` tile of neighbours;
   * `grid`: a window has one position from each cell of a `size` x `size` grid over the feature map, so it spans the
   * whole map.
   */
  windowPartition: { readonly size: number; readonly layout: 'window' | 'grid' }
  /** The inverse of `windowPartition`: the output has the shape of node `restores`. A copy. */
  windowMerge: { readonly size: number; readonly layout: 'window' | 'grid'; readonly restores: string }
  /** Part `part` of `parts` of the last axis, [b, w, p, f] to [b, w, heads, p, f / heads]; a view. */
  splitHeads: { readonly part: number; readonly parts: number; readonly heads: number }
  /** [b, w, heads, p, f] to [b, w, p, heads * f]; a copy. */
  mergeHeads: { readonly heads: number }
  /** The same values in the order of the axes; a copy. */
  contiguous: Record<never, never>
  /** Batched product of the last two axes. */
  matmul: { readonly transposeB: boolean }
  softmax: { readonly axis: -1 }
  /**
   * Looks up a learned bias for each pair of the `size` x `size` positions of a window: table row
   * (dy + size - 1) * (2 size - 1) + dx + size - 1. To [size^4, heads].
   */
  relativePositionBias: { readonly size: number; readonly heads: number }
  /** [pairs, heads] to [heads, positions, positions]; a copy. */
  pairsToHeads: { readonly size: number; readonly heads: number }
}

export type OperatorKind = keyof OperatorAttributes

/** A learned tensor, or a statistic fixed in training. `name` is that of the torchvision state dictionary. */
export interface WeightTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly elements: number
}

export interface NodeOf<Kind extends OperatorKind> {
  /** Unique in the graph: the torchvision module path if there is one, else a similar path. */
  readonly id: string
  readonly kind: Kind
  /** Ids of the nodes whose outputs it reads, in the order of its arguments. */
  readonly inputs: readonly string[]
  readonly attributes: OperatorAttributes[Kind]
  /** Learned parameters. */
  readonly weights: readonly WeightTensor[]
  /** Fixed statistics (running mean and variance of a batch norm). */
  readonly buffers: readonly WeightTensor[]
}

/** One eager operator. Narrow by `kind`. */
export type GraphNode = { [Kind in OperatorKind]: NodeOf<Kind> }[OperatorKind]

/** A network as the list of its operators. */
export interface NetworkGraph {
  readonly name: NetworkName
  /**
   * In topological order: inputs precede their nodes. The first node is the input, the last one gives the 1000 class
   * scores.
   */
  readonly nodes: readonly GraphNode[]
  /** Allowed heights and widths, pixels: at least `minimum`, and a multiple of `multipleOf`. */
  readonly inputSize: { readonly minimum: number; readonly multipleOf: number }
}

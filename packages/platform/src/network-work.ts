/** Work of a network for one sample, independent of the board. All values are 0 or more. */
export interface NetworkWork {
  /**
   * GFLOP of convolutions and matrix products, without depthwise convolutions. A multiply-accumulate counts as two
   * FLOP.
   */
  readonly denseGflops: number
  /** Million activation elements read and written by depthwise convolutions. */
  readonly depthwiseMelements: number
  /** Million activation elements read and written by all convolutions and matrix products, including depthwise ones. */
  readonly computedMelements: number
  /** Million activation elements read and written by all other operators: norms, activations, pools, copies. */
  readonly movedMelements: number
  /** Million weight elements, which are read once per batch of any size. */
  readonly weightMelements: number
  /** Number of operators that launch a kernel. */
  readonly kernels: number
  /** Maximum number of activation elements in memory at the same time, millions. */
  readonly peakMelements: number
  /**
   * Fraction of all read and written elements that unknown operators cause, 0..1. It is 1 if an unknown operator
   * contains a subgraph, because subgraphs are not counted. Default 0.
   */
  readonly unknownShare?: number
}

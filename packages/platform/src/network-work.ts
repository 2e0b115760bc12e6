/** Work of a network for one sample, independent of the board: seven numbers, each 0 or more. */
export interface NetworkWork {
  /** GFLOP of convolutions and matrix products, two for each multiply-accumulate, without depthwise convolutions. */
  readonly denseGflops: number
  /** Million activation elements read and written by depthwise convolutions. */
  readonly depthwiseMelements: number
  /** Million activation elements read and written by all convolutions and matrix products, including depthwise ones. */
  readonly computedMelements: number
  /** Million activation elements read and written by all other operators: norms, activations, pools, copies. */
  readonly movedMelements: number
  /** Million elements read once per batch, whatever its size: weights. */
  readonly weightMelements: number
  /** Number of operators that launch a kernel. */
  readonly kernels: number
  /** Maximum number of activation elements alive at once, millions. */
  readonly peakMelements: number
  /**
   * Share of the elements that belongs to unknown operators, 0..1; 1 where one of these contains a subgraph, which is
   * not counted. Absent: 0.
   */
  readonly unknownShare?: number
}

/** What one sample of a network asks of a device, whatever the board: a description in seven numbers, each 0 or more. */
export interface NetworkWork {
  /** GFLOP of convolutions and matrix products, two for each multiply-accumulate; without those of depthwise convolutions. */
  readonly denseGflops: number
  /** Millions of activation elements that depthwise convolutions read and write. */
  readonly depthwiseMelements: number
  /** Millions of activation elements that all operators with arithmetic of this kind read and write, depthwise ones among them. */
  readonly computedMelements: number
  /** Millions of activation elements that all other operators read and write: norms, activations, pools, copies. */
  readonly movedMelements: number
  /** Millions of elements that a batch reads once however large it is: weights. */
  readonly weightMelements: number
  /** Operators that launch a kernel. */
  readonly kernels: number
  /** Largest number of activation elements alive at once, millions. */
  readonly peakMelements: number
  /**
   * Part of the elements that operators without a known meaning read and write, 0..1; 1 where one of them has a graph of its own inside, of
   * which nothing is counted. Absent: 0.
   */
  readonly unknownShare?: number
}

export interface ThroughputBound {
  /** Upper bound on the predicted throughput of all allowed configurations: samples/s, weighted as in the search. */
  readonly weightedThroughput: number
  /** SM clock at which the bound is largest, MHz; the highest one of several. */
  readonly smClockMhz: number
  readonly memClockMhz: number
  /** Whether the bound is attained: all configurations were enumerated. */
  readonly exact: boolean
}

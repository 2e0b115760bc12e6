export interface ThroughputBound {
  /** No configuration that the options allow is predicted to serve more: samples/s, weighted as the search weighs them. */
  readonly weightedThroughput: number
  /** The clocks at which the bound is largest, MHz; of several clocks the highest. */
  readonly smClockMhz: number
  readonly memClockMhz: number
  /** Whether the bound is reached: everything was looked at, and this is the best there is. */
  readonly exact: boolean
}

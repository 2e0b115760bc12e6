/** Arrival times of one service's requests, in order. */
export interface Arrivals {
  /**
   * Returns the time of the next arrival, ms since the start. Times never decrease; Infinity after the last arrival.
   */
  nextMs(): number
}

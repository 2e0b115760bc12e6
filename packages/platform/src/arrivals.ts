/** Arrival times of one service's requests, in order. */
export interface Arrivals {
  /**
   * Returns the time of the next arrival, counted from the start, ms. Times never decrease. Infinity after the last
   * arrival.
   */
  nextMs(): number
}

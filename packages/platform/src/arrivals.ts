/** Arrival times of one service's requests, in order. */
export interface Arrivals {
  /** Time of the next arrival, ms since the start; non-decreasing, Infinity once none is left. */
  nextMs(): number
}

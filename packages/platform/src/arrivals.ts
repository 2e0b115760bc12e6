/** The times at which the requests of one service arrive, one after the other. */
export interface Arrivals {
  /** Time of the next arrival, ms since the start; never less than the one before, Infinity once none is left. */
  nextMs(): number
}

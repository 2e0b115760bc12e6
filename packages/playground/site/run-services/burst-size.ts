/** Length of a burst, s, and its additional requests as a multiple of the usual requests. */
export const BURST_S = 5
export const BURST_FACTOR = 2

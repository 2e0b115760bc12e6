/** Length of a burst, s, and its additional requests as a multiple of the usual request rate. */
export const BURST_S = 5
export const BURST_FACTOR = 2

/** How long a burst lasts, s, and how many times the usual requests it brings beside them. */
export const BURST_S = 5
export const BURST_FACTOR = 2

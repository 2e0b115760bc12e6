/** Returns the time of CLOCK_MONOTONIC, which all processes of a machine share, ms. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

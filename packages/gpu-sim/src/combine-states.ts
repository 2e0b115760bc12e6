import type { SteadyState } from './steady-state.js'

/** Combines the states of a board's isolated parts into one. Tenants stay in the order of the parts. */
export function combineStates(
  parts: readonly { readonly state: SteadyState; readonly bandwidthShare: number }[],
): SteadyState {
  const sum = (value: (state: SteadyState) => number) => parts.reduce((total, { state }) => total + value(state), 0)
  return {
    tenants: parts.flatMap(({ state }) => state.tenants),
    throughput: sum((state) => state.throughput),
    busySms: sum((state) => state.busySms),
    flopPerS: sum((state) => state.flopPerS),
    vectorOpsPerS: sum((state) => state.vectorOpsPerS),
    l2BytesPerS: sum((state) => state.l2BytesPerS),
    dramBytesPerS: sum((state) => state.dramBytesPerS),
    // A kernel in any part counts.
    smUtilPercent: 100 * (1 - parts.reduce((none, { state }) => none * (1 - state.smUtilPercent / 100), 1)),
    memUtilPercent: parts.reduce((total, part) => total + part.bandwidthShare * part.state.memUtilPercent, 0),
  }
}

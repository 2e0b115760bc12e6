import type { SteadyState } from './steady-state.js'

/**
 * Combines the states of a board's MIG instances into the state of the board. Tenants are in the order of the
 * instances.
 */
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
    // The board counts as busy while a kernel runs in any instance.
    smUtilPercent: 100 * (1 - parts.reduce((none, { state }) => none * (1 - state.smUtilPercent / 100), 1)),
    memUtilPercent: parts.reduce((total, part) => total + part.bandwidthShare * part.state.memUtilPercent, 0),
  }
}

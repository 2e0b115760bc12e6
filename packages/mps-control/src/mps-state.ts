import { MpsError } from './mps-errors.js'

/**
 * Life cycle of a daemon. `fault`: a client's GPU fault has stopped a server, or the daemon has vanished; it ends with
 * recovery or a stop.
 */
export type MpsState = 'stopped' | 'starting' | 'active' | 'draining' | 'fault'

const next: Readonly<Record<MpsState, readonly MpsState[]>> = {
  stopped: ['starting', 'active', 'fault'],
  starting: ['active', 'stopped', 'fault'],
  active: ['draining', 'fault'],
  draining: ['stopped', 'fault'],
  fault: ['active', 'starting', 'draining', 'stopped'],
}

/** @throws MpsError `MPS_STATE` for an impossible transition */
export function assertTransition(from: MpsState, to: MpsState): void {
  if (from === to || next[from].includes(to)) return
  throw new MpsError(
    'MPS_STATE',
    `MPS is ${from} and cannot become ${to}; from here it can become ${next[from].join(' or ')}`,
  )
}

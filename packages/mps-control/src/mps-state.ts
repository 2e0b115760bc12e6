import { MpsError } from './mps-errors.js'

/**
 * The life of a daemon. `fault` is a server that a client's GPU fault has stopped, or a daemon that has vanished; it is left
 * through recovery, or by stopping.
 */
export type MpsState = 'stopped' | 'starting' | 'active' | 'draining' | 'fault'

const next: Readonly<Record<MpsState, readonly MpsState[]>> = {
  stopped: ['starting', 'active', 'fault'],
  starting: ['active', 'stopped', 'fault'],
  active: ['draining', 'fault'],
  draining: ['stopped', 'fault'],
  fault: ['active', 'starting', 'draining', 'stopped'],
}

/** @throws MpsError `MPS_STATE` for a step that a daemon's life does not have */
export function assertTransition(from: MpsState, to: MpsState): void {
  if (from === to || next[from].includes(to)) return
  throw new MpsError(
    'MPS_STATE',
    `MPS is ${from} and cannot become ${to}; from here it can become ${next[from].join(' or ')}`,
  )
}

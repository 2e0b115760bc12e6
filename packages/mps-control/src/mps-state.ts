import type { ProcessIdentity } from '@pctodl/nvml-control'
import type { MpsServer } from './servers.js'

/** `fault`: a client's GPU fault has stopped a server, or the daemon is gone. `recover` or `stop` ends this state. */
export type MpsState = 'stopped' | 'starting' | 'active' | 'draining' | 'fault'

/** `daemon` is null if its process is not visible; `servers` is null if the daemon does not answer. */
export function judgeState(
  before: MpsState,
  daemon: ProcessIdentity | null,
  servers: readonly MpsServer[] | null,
): { readonly state: MpsState; readonly reason?: string } {
  if (servers !== null && daemon !== null) {
    const ill = servers.find((server) => server.status === 'FAULT')
    if (ill) return { state: 'fault', reason: `MPS server ${ill.pid} is in FAULT with ${ill.clients.length} clients` }
    return { state: before === 'draining' ? 'draining' : 'active' }
  }
  if (daemon !== null) return { state: 'fault', reason: `the MPS daemon (process ${daemon.pid}) does not answer` }
  // The daemon answers but its process is not visible, e.g. because it is in another pid namespace.
  if (servers !== null) return { state: 'active' }
  const vanished = before === 'active' || before === 'fault'
  return vanished ? { state: 'fault', reason: 'the MPS daemon has vanished' } : { state: 'stopped' }
}

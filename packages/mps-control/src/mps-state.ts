import type { ProcessIdentity } from '@pctodl/nvml-control'
import type { MpsServer } from './servers.js'

/**
 * State of a daemon. `fault`: a client's GPU fault has stopped a server, or the daemon has vanished; it ends with
 * recovery or a stop.
 */
export type MpsState = 'stopped' | 'starting' | 'active' | 'draining' | 'fault'

/**
 * Determine the state of a daemon.
 *
 * @param before what it was in when it was last looked at
 * @param daemon its process; null where none can be seen
 * @param servers what it answers; null where it does not
 */
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
  // It answers but is not visible as a process, as in another pid namespace.
  if (servers !== null) return { state: 'active' }
  const vanished = before === 'active' || before === 'fault'
  return vanished ? { state: 'fault', reason: 'the MPS daemon has vanished' } : { state: 'stopped' }
}

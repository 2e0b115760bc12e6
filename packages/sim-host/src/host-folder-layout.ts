import { join } from 'node:path'

/** The socket on which the simulator answers the host's programs. */
export function controlSocket(folder: string): string {
  return join(folder, 'control.sock')
}

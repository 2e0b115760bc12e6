import { join } from 'node:path'

/** Where the simulator takes changes of boards: a file of who may make them, as the boards' own files are. */
export function settersSocket(folder: string): string {
  return join(folder, 'set.sock')
}

/** The socket on which the simulator answers the host's programs. */
export function controlSocket(folder: string): string {
  return join(folder, 'control.sock')
}

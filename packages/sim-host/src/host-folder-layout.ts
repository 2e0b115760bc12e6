import { join } from 'node:path'

/** Path of the socket for requests that change a board. Only permitted users can open it, as with the board files. */
export function settersSocket(folder: string): string {
  return join(folder, 'set.sock')
}

/** Path of the socket on which the simulator answers the host's programs. */
export function controlSocket(folder: string): string {
  return join(folder, 'control.sock')
}

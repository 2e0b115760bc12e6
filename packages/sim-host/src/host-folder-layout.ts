import { join } from 'node:path'

/** Socket for changes of boards: a file restricted to permitted users, like the boards' own files. */
export function settersSocket(folder: string): string {
  return join(folder, 'set.sock')
}

/** Socket on which the simulator answers the host's programs. */
export function controlSocket(folder: string): string {
  return join(folder, 'control.sock')
}

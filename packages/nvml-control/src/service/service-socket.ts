import { lstatSync } from 'node:fs'
import path from 'node:path'
import { trustedPath } from '@pctodl/command-line'

/** Where the node service listens. */
export const defaultServiceSocket = '/run/pctodl/pctodld.sock'

/**
 * The public socket, whose queue anybody on the node can fill, and two beside it whose queue only some reach: those whom the policy
 * knows, and root. The kernel refuses the others before they are in it.
 */
export function socketsOf(socket: string): readonly [SocketPlace, SocketPlace, SocketPlace] {
  return [
    { path: socket, mode: 0o666 },
    { path: `${socket}.known`, mode: 0o600 },
    { path: `${socket}.root`, mode: 0o600 },
  ]
}

export interface SocketPlace {
  readonly path: string
  readonly mode: number
}

/** Where the service is looked for: `$PCTODL_SERVICE_SOCKET`, or its usual place. */
export function serviceSocketPath(): string {
  return process.env['PCTODL_SERVICE_SOCKET'] || defaultServiceSocket
}

/**
 * Whether there is a socket that only root or this user can have put there. Anybody may listen in a folder of their own and
 * promise everything, so a socket in other hands is none.
 *
 * @returns null, or why there is no service to be asked
 */
export function whyNoService(socket: string): string | null {
  try {
    trustedPath(path.dirname(socket))
    const stat = lstatSync(socket)
    if (!stat.isSocket()) return `${socket} is no socket`
    if (stat.uid !== 0 && stat.uid !== process.geteuid?.()) return `${socket} belongs to user ${stat.uid}`
    return null
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return `there is no ${socket}`
    return error instanceof Error ? error.message : String(error)
  }
}

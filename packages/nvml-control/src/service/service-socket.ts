import { lstatSync } from 'node:fs'
import path from 'node:path'
import { trustedPath } from '@pctodl/command-line'

/** Default socket of the node service. */
export const defaultServiceSocket = '/run/pctodl/pctodld.sock'

/**
 * The public socket, whose queue anybody on the node can fill, and two more with restricted queues: for the policy's
 * users and groups, and for root. The kernel refuses others before they enter the queue.
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

/** The service's socket: `$PCTODL_SERVICE_SOCKET`, or the default. */
export function serviceSocketPath(): string {
  return process.env['PCTODL_SERVICE_SOCKET'] || defaultServiceSocket
}

/**
 * Check that the socket can only have been created by root or this user. Anybody could listen in a folder of their own
 * and impersonate the service, so a socket of another user is ignored.
 *
 * @returns null, or why no service can be used
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

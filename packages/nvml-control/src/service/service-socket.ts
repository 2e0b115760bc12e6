import { lstatSync } from 'node:fs'
import path from 'node:path'
import { trustedPath } from '@pctodl/command-line'
import { reasonOf } from '../reason-of.js'

export const defaultServiceSocket = '/run/pctodl/pctodld.sock'

/**
 * Returns the service's three sockets: a public one, one for the users and groups that the policy names, and one for
 * root. Any user on the node can fill the connection queue of the public socket. For the other two, the kernel rejects
 * all other users before they enter the queue.
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

export function serviceSocketPath(): string {
  return process.env['PCTODL_SERVICE_SOCKET'] || defaultServiceSocket
}

/** Any user could pose as the service with a socket of their own, so it must be root's or this user's. */
export function whyNoService(socket: string): string | null {
  try {
    trustedPath(path.dirname(socket))
    const stat = lstatSync(socket)
    if (!stat.isSocket()) return `${socket} is no socket`
    if (stat.uid !== 0 && stat.uid !== process.geteuid?.()) return `${socket} belongs to user ${stat.uid}`
    return null
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return `there is no ${socket}`
    return reasonOf(error)
  }
}

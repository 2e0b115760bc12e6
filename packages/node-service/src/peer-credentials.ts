import type { Socket } from 'node:net'
import { PctodlError } from '@pctodl/platform'
import { load } from 'koffi'
import { type Workload, workloadOf } from './identity.js'

/** The process at the other end of a unix socket, as the kernel recorded it when the connection was made. */
export interface Peer {
  readonly pid: number
  readonly uid: number
  readonly gid: number
  /** All of the user's groups, including `gid`. */
  readonly groups: readonly number[]
  /** The job or pod that the process belonged to when it connected. */
  readonly workload?: Workload | undefined
}

/** `<asm-generic/socket.h>`. These values hold for the architectures below only. */
const SOL_SOCKET = 1
const SO_PEERCRED = 17
const SO_PEERGROUPS = 59
const architectures = ['x64', 'arm64']

/** Maximum number of a user's groups that are read; the kernel allows 65,536. */
const MAX_GROUPS = 65_536

type GetSocketOption = (fd: number, level: number, name: number, value: object, length: Uint32Array) => number
let getSocketOption: GetSocketOption | undefined
/** Reused buffer: repeated connections must not each allocate this much memory. It is filled and read synchronously. */
let groupsOfPeer: Int32Array | undefined

/**
 * Identify the connected process through the kernel. Node has no call for it, so the C library is called with the
 * socket's file descriptor.
 *
 * @throws PctodlError `NO_CREDENTIALS` if the kernel does not tell: then the client cannot be trusted
 */
export function peerOf(socket: Socket): Peer {
  if (process.platform !== 'linux' || !architectures.includes(process.arch)) {
    throw noCredentials(
      `Linux on ${architectures.join(' or ')} is needed, this is ${process.platform} on ${process.arch}`,
    )
  }
  // Not a documented property, but the only way to the file descriptor; without it nobody can be served.
  const fd = (socket as unknown as { readonly _handle?: { readonly fd?: unknown } })._handle?.fd
  if (typeof fd !== 'number' || !Number.isInteger(fd) || fd < 0) throw noCredentials('the socket has no descriptor')
  getSocketOption ??= load(null).func('getsockopt', 'int', ['int', 'int', 'int', 'void *', 'void *']) as GetSocketOption
  const [pid, uid, gid] = option(fd, SO_PEERCRED, new Int32Array(3))
  if (pid === undefined || uid === undefined || gid === undefined)
    throw noCredentials('SO_PEERCRED was answered in part')
  // Pid 0 is a process in another pid namespace; -1 is a user of another user namespace, or none.
  if (uid < 0 || gid < 0) throw noCredentials(`the kernel tells user ${uid} and group ${gid}`)
  groupsOfPeer ??= new Int32Array(MAX_GROUPS)
  const groups = [...new Set([gid, ...option(fd, SO_PEERGROUPS, groupsOfPeer)])]
  return { pid, uid, gid, groups, workload: workloadOf(pid, uid) }
}

function option(fd: number, name: number, value: Int32Array): number[] {
  const length = new Uint32Array([value.byteLength])
  if (getSocketOption!(fd, SOL_SOCKET, name, value, length) !== 0) throw noCredentials(`getsockopt ${name} failed`)
  return Array.from(value.subarray(0, length[0]! / value.BYTES_PER_ELEMENT))
}

function noCredentials(reason: string): PctodlError {
  return new PctodlError(
    'NO_CREDENTIALS',
    `it cannot be told who has connected (${reason}), so nothing is done for them`,
  )
}

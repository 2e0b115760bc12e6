import type { Socket } from 'node:net'
import { PctodlError } from '@pctodl/platform'
import { load } from 'koffi'
import { type Workload, workloadOf } from './identity.js'

/** Who is at the other end of a unix socket, as the kernel tells it: of the moment when the connection was made. */
export interface Peer {
  readonly pid: number
  readonly uid: number
  readonly gid: number
  /** All of the user's groups, `gid` among them. */
  readonly groups: readonly number[]
  /** The job or pod that the process belonged to when it connected. */
  readonly workload?: Workload | undefined
}

/** `<asm-generic/socket.h>`; other architectures than these have other numbers. */
const SOL_SOCKET = 1
const SO_PEERCRED = 17
const SO_PEERGROUPS = 59
const architectures = ['x64', 'arm64']

/** Groups of one user that are read; the kernel allows 65,536. */
const MOST_GROUPS = 65_536

type GetSocketOption = (fd: number, level: number, name: number, value: object, length: Uint32Array) => number
let getSocketOption: GetSocketOption | undefined
/** Filled and read in one go: whoever connects over and over must not have so much memory taken each time. */
let groupsOfPeer: Int32Array | undefined

/**
 * Ask the kernel who has connected. Node has no call for it, so the C library's is used, with the descriptor of the socket.
 *
 * @throws PctodlError `NO_CREDENTIALS` where the kernel does not tell: then nobody may be trusted to be anybody
 */
export function peerOf(socket: Socket): Peer {
  if (process.platform !== 'linux' || !architectures.includes(process.arch)) {
    throw noCredentials(
      `Linux on ${architectures.join(' or ')} is needed, this is ${process.platform} on ${process.arch}`,
    )
  }
  // Not a documented property, but the only way to the descriptor; without it there is no answer, and so no service.
  const fd = (socket as unknown as { readonly _handle?: { readonly fd?: unknown } })._handle?.fd
  if (typeof fd !== 'number' || !Number.isInteger(fd) || fd < 0) throw noCredentials('the socket has no descriptor')
  getSocketOption ??= load(null).func('getsockopt', 'int', ['int', 'int', 'int', 'void *', 'void *']) as GetSocketOption
  const [pid, uid, gid] = option(fd, SO_PEERCRED, new Int32Array(3))
  if (pid === undefined || uid === undefined || gid === undefined)
    throw noCredentials('SO_PEERCRED was answered in part')
  // 0 is a process of another pid namespace; -1 a user of another user namespace, or no user at all.
  if (uid < 0 || gid < 0) throw noCredentials(`the kernel tells user ${uid} and group ${gid}`)
  groupsOfPeer ??= new Int32Array(MOST_GROUPS)
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

import type { Socket } from 'node:net'
import { PctodlError } from '@pctodl/platform'
import { load } from 'koffi'
import { type Workload, workloadOf } from './identity.js'

/** The process at the other end of a unix socket, as the kernel recorded it when it connected. */
export interface Peer {
  readonly pid: number
  readonly uid: number
  readonly gid: number
  /** All of the user's groups, including `gid`. */
  readonly groups: readonly number[]
  /** The Slurm job or Kubernetes pod that the process belonged to when it connected. */
  readonly workload?: Workload | undefined
}

/** Constants from `<asm-generic/socket.h>`. They are valid only for the architectures below. */
const SOL_SOCKET = 1
const SO_PEERCRED = 17
const SO_PEERGROUPS = 59
const architectures = ['x64', 'arm64']

const MAX_GROUPS = 65_536

type GetSocketOption = (fd: number, level: number, name: number, value: object, length: Uint32Array) => number
let getSocketOption: GetSocketOption | undefined
/** All calls share this buffer. Between filling and reading it there is no `await`. */
let groupsOfPeer: Int32Array | undefined

/** Returns the process at the other end of a socket. @throws PctodlError `NO_CREDENTIALS` if it cannot be known */
export function peerOf(socket: Socket): Peer {
  const { platform, arch } = process
  if (platform !== 'linux' || !architectures.includes(arch))
    throw noCredentials(`Linux on ${architectures.join(' or ')} is needed, this is ${platform} on ${arch}`)
  // Node.js does not document this property, but there is no other way to the file descriptor. Without it, no client
  // can be served.
  const fd = (socket as unknown as { readonly _handle?: { readonly fd?: unknown } })._handle?.fd
  if (typeof fd !== 'number' || !Number.isInteger(fd) || fd < 0) throw noCredentials('the socket has no descriptor')
  getSocketOption ??= load(null).func('getsockopt', 'int', ['int', 'int', 'int', 'void *', 'void *']) as GetSocketOption
  const [pid, uid, gid] = option(fd, SO_PEERCRED, new Int32Array(3))
  if (pid === undefined || uid === undefined || gid === undefined)
    throw noCredentials('SO_PEERCRED was answered in part')
  // A pid of 0 means a process of another pid namespace. A uid or gid of -1 means a user of another user namespace, or
  // none.
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
  const why = `it cannot be told who has connected (${reason}), so nothing is done for them`
  return new PctodlError('NO_CREDENTIALS', why)
}

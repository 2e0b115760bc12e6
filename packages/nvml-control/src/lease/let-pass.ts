import { chmodSync } from 'node:fs'
import { load } from 'koffi'

/** `setxattr` from <sys/xattr.h>, because Node has no call for access control lists. */
let setxattr: ((path: string, name: string, value: Uint8Array, size: number, flags: number) => number) | undefined

/** Version of the access control list format (<linux/posix_acl_xattr.h>). */
const ACL_VERSION = 2
/** Entry tags of an access control list (acl(5)). */
const [USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20] as const
/** Id in those entries of the list that name no user and no group. */
const NOBODY = 0xffffffff
const ENTRY_BYTES = 8
const [READ_WRITE, PASS, NOTHING] = [6, 1, 0] as const

interface Known {
  readonly uids: readonly number[]
  readonly gids: readonly number[]
}

/**
 * Lets one more user pass through one of our folders, without permission to list or change it. All other users are
 * excluded. @throws Error if the file system does not support access control lists
 */
export function letPass(folder: string, uid: number): void {
  chmodSync(folder, 0o700)
  grant(folder, 7, PASS, { uids: [uid], gids: [] }, `user ${uid} alone cannot be let in`)
}

/** Lets only the given users and groups connect to one of our sockets. @throws Error as `letPass` does */
export function letConnect(socket: string, known: Known): void {
  grant(socket, READ_WRITE, READ_WRITE, known, 'users have no queue of their own')
}

/** @param otherwise end of the error message: the consequence of missing access control lists */
function grant(file: string, own: number, permission: number, { uids, gids }: Known, otherwise: string): void {
  setxattr ??= load(null).func('setxattr', 'int', ['str', 'str', 'void *', 'size_t', 'int']) as NonNullable<
    typeof setxattr
  >
  const named = (tag: number, ids: readonly number[]) =>
    [...new Set(ids)].sort((a, b) => a - b).map((id) => [tag, permission, id] as const)
  const entries = [
    [USER_OBJ, own, NOBODY] as const,
    ...named(USER, uids),
    [GROUP_OBJ, NOTHING, NOBODY] as const,
    ...named(GROUP, gids),
    [MASK, permission, NOBODY] as const,
    [OTHER, NOTHING, NOBODY] as const,
  ]
  const list = Buffer.alloc(4 + entries.length * ENTRY_BYTES)
  list.writeUInt32LE(ACL_VERSION)
  for (const [i, [tag, permissions, id]] of entries.entries()) {
    const at = 4 + i * ENTRY_BYTES
    list.writeUInt16LE(tag, at)
    list.writeUInt16LE(permissions, at + 2)
    list.writeUInt32LE(id, at + 4)
  }
  if (setxattr(file, 'system.posix_acl_access', list, list.length, 0) !== 0)
    throw new Error(`${file} is on a file system without access control lists, so ${otherwise}`)
}

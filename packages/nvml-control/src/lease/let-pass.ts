import { chmodSync } from 'node:fs'
import { load } from 'koffi'

/** `setxattr` from <sys/xattr.h>: Node has no call for access control lists. */
let setxattr: ((path: string, name: string, value: Uint8Array, size: number, flags: number) => number) | undefined

/** acl(5) and <linux/posix_acl_xattr.h>: tags of entries, and the id of entries that have none. */
const ACL_VERSION = 2
const [USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20] as const
const NOBODY = 0xffffffff
const ENTRY_BYTES = 8
/** Permissions. */
const [READ_WRITE, PASS, NOTHING] = [6, 1, 0] as const

/**
 * Let one more user pass through a folder of ours to what has a name in it: not look around, not write. Nobody else may, whoever
 * shares a group. What its list said before is replaced.
 *
 * @throws Error where the file system has no access control lists
 */
export function letPass(folder: string, uid: number): void {
  chmodSync(folder, 0o700)
  if (grant(folder, 7, PASS, [uid], [])) return
  throw new Error(`${folder} is on a file system without access control lists, so user ${uid} alone cannot be let in`)
}

/** Let these users and groups, and nobody else, connect to a socket of ours. @throws Error as `letPass` */
export function letConnect(
  socket: string,
  { uids, gids }: { readonly uids: readonly number[]; readonly gids: readonly number[] },
): void {
  if (grant(socket, READ_WRITE, READ_WRITE, uids, gids)) return
  throw new Error(`${socket} is on a file system without access control lists, so users have no queue of their own`)
}

function grant(
  file: string,
  own: number,
  permission: number,
  uids: readonly number[],
  gids: readonly number[],
): boolean {
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
  return setxattr(file, 'system.posix_acl_access', list, list.length, 0) === 0
}

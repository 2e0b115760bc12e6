import { chmodSync } from 'node:fs'
import { load } from 'koffi'

/** `setxattr` from <sys/xattr.h>: Node has no call for access control lists. */
let setxattr: ((path: string, name: string, value: Uint8Array, size: number, flags: number) => number) | undefined

/** acl(5) and <linux/posix_acl_xattr.h>: tags of entries, permissions, and the id of entries that have none. */
const ACL_VERSION = 2
const [USER_OBJ, USER, GROUP_OBJ, MASK, OTHER] = [0x01, 0x02, 0x04, 0x10, 0x20]
const [ALL, PASS, NOTHING] = [7, 1, 0]
const NOBODY = 0xffffffff
const ENTRY_BYTES = 8

/**
 * Let one more user pass through a folder of ours to what has a name in it: not look around, not write. Nobody else may, whoever
 * shares a group. What its list said before is replaced.
 *
 * @throws Error where the file system has no access control lists
 */
export function letPass(folder: string, uid: number): void {
  setxattr ??= load(null).func('setxattr', 'int', ['str', 'str', 'void *', 'size_t', 'int']) as NonNullable<
    typeof setxattr
  >
  const entries: readonly (readonly [tag: number, permissions: number, id: number])[] = [
    [USER_OBJ!, ALL!, NOBODY],
    [USER!, PASS!, uid],
    [GROUP_OBJ!, NOTHING!, NOBODY],
    [MASK!, PASS!, NOBODY],
    [OTHER!, NOTHING!, NOBODY],
  ]
  const list = Buffer.alloc(4 + entries.length * ENTRY_BYTES)
  list.writeUInt32LE(ACL_VERSION)
  for (const [i, [tag, permissions, id]] of entries.entries()) {
    const at = 4 + i * ENTRY_BYTES
    list.writeUInt16LE(tag, at)
    list.writeUInt16LE(permissions, at + 2)
    list.writeUInt32LE(id, at + 4)
  }
  chmodSync(folder, 0o700)
  if (setxattr(folder, 'system.posix_acl_access', list, list.length, 0) === 0) return
  throw new Error(`${folder} is on a file system without access control lists, so user ${uid} alone cannot be let in`)
}

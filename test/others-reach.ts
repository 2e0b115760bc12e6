import { statSync } from 'node:fs'
import path from 'node:path'

const READ_AND_ENTER = 0o005
const ENTER = 0o001

/** Whether users other than its owner may read a folder, and go through all that are above it: not in a clone in root's home. */
export function othersReach(folder: string): boolean {
  return allows(folder, READ_AND_ENTER) && foldersAbove(folder).every((above) => allows(above, ENTER))
}

function foldersAbove(folder: string): string[] {
  const above = path.dirname(folder)
  return above === folder ? [] : [above, ...foldersAbove(above)]
}

function allows(folder: string, bits: number): boolean {
  return (statSync(folder).mode & bits) === bits
}

import { accessSync, constants, existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { LeaseFolder, type Nvml } from '@pctodl/nvml-control'
import { absent, broken, type Finding, ok } from './finding.js'
import { firstLineOf } from './first-line-of.js'

/** Whether this user may change clocks and limits: as root, or through `sudo -n nvidia-smi`. Changes nothing. */
export async function checkPermission(nvml: Nvml | undefined, signal: AbortSignal): Promise<Finding> {
  const check = 'permission'
  if (process.geteuid?.() === 0) {
    const detail = 'root'
    return nvml === undefined
      ? ok(check, detail)
      : { ...ok(check, detail), advice: 'in a container CAP_SYS_ADMIN is needed too' }
  }
  const user = userInfo().username
  const advice =
    `to change clocks and limits of real boards: run as root, or have the operator install what ` +
    `\`pctodl gpu sudoers --for ${user}\` prints. Reading boards needs no permission`
  const device = nvml !== undefined && nvml.deviceCount > 0 ? nvml.deviceByIndex(0) : undefined
  // `-l` asks whether the command would be allowed, and runs nothing. Without a board any of its kind will do.
  const wanted = ['nvidia-smi', '-i', device?.uuid ?? 'GPU-0', '-rgc']
  const answer = await firstLineOf('sudo', ['-n', '-l', ...wanted], signal)
  if (answer.kind === 'answered') return ok(check, `sudo -n ${wanted.join(' ')} is allowed`)
  if (answer.kind === 'not-found') return absent(check, `${user} is not root, and there is no sudo`, advice)
  return absent(check, `${user} may not: ${answer.reason}`, advice)
}

/** The folder in which leases are kept, and what killed programs left in it. */
export function checkLeases(leaseFolder: string | undefined): Finding {
  const check = 'leases'
  const folder = new LeaseFolder(leaseFolder)
  const left = folder.journaled().filter((uuid) => folder.holder(uuid) === null)
  if (left.length > 0) {
    return broken(check, `a program that is gone left ${left.join(', ')} changed`, 'run `pctodl cleanup`')
  }
  const writable = existsSync(folder.path) ? folder.path : existingParent(folder.path)
  try {
    accessSync(writable, constants.W_OK)
    return ok(check, folder.path)
  } catch {
    return absent(
      check,
      `${writable} cannot be written by this user`,
      'for real boards: have the operator make the folder (`pctodl gpu sudoers` shows how), or name another in PCTODL_LEASE_DIR',
    )
  }
}

function existingParent(folder: string): string {
  const parent = path.dirname(folder)
  return existsSync(parent) ? parent : existingParent(parent)
}

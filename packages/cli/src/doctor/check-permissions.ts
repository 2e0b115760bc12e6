import { accessSync, constants, existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { LeaseFolder, type Nvml, ServiceClient, serviceSocketPath } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import { absent, broken, type Finding, ok } from './finding.js'

/**
 * Checks whether this user may change clocks and limits, through the node service or as root. The service reveals its
 * policy only in answer to a request for a lease, and this check makes none. Changes nothing.
 */
export async function checkPermission(nvml: Nvml | undefined): Promise<Finding> {
  const check = 'permission'
  const service = await ServiceClient.open().catch((error: unknown) => error)
  if (service instanceof ServiceClient) {
    service.close()
    return ok(check, `through the node service at ${serviceSocketPath()}, within its policy`)
  }
  if (!(service instanceof PctodlError && service.code === 'NO_SERVICE')) {
    const reason = service instanceof Error ? service.message : String(service)
    return broken(check, reason, 'see the journal of pctodld')
  }
  if (process.geteuid?.() === 0) {
    const detail = 'root'
    return nvml === undefined
      ? ok(check, detail)
      : { ...ok(check, detail), advice: 'in a container CAP_SYS_ADMIN is needed too' }
  }
  return absent(
    check,
    `${nameOfUser()} is not root, and ${service.message}`,
    'to change clocks and limits of real boards: run as root, or have the operator run the node service (pctodld). Reading ' +
      'boards needs no permission',
  )
}

/** Name of the user, or the user's number if there is no name, as in many containers. */
function nameOfUser(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.geteuid?.()}`
  }
}

/** Checks the folder of leases, and leftovers of killed programs in it. */
export function checkLeases(leaseFolder: string | undefined): Finding {
  const check = 'leases'
  const folder = new LeaseFolder(leaseFolder)
  let left: string[]
  try {
    left = folder.journaled().filter((uuid) => folder.holder(uuid) === null)
  } catch (error) {
    if (!(error instanceof PctodlError)) throw error
    return broken(check, error.message, 'make the folder yours alone (mode 700), or name another in PCTODL_LEASE_DIR')
  }
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
      'for real boards: name a folder of your own in PCTODL_LEASE_DIR',
    )
  }
}

function existingParent(folder: string): string {
  const parent = path.dirname(folder)
  return existsSync(parent) ? parent : existingParent(parent)
}

import { readFileSync } from 'node:fs'
import type { NvmlGpu } from '@pctodl/nvml-control'
import type { BoardOccupancy, TenantPool } from '@pctodl/platform'

/**
 * Name of the MPS server process. The driver lists the server besides its clients, so it is not counted as a workload.
 */
const MPS_SERVER = /^nvidia-cuda-mps/
/** Maximum number of a process's ancestors to follow. */
const DEEPEST = 32

/**
 * Returns the processes that the driver lists on a board, and the device of each tenant.
 *
 * A process is ours if it descends from this one. A tenant is on the board if the driver lists it or one of its
 * children there. It is not on the board if it runs on the CPU, if another board lists it, or if this board lists other
 * processes of ours but not this one. Otherwise its place is unknown, for example in containers whose processes the
 * driver hides.
 *
 * @throws NvmlError if the driver does not respond
 */
export function realOccupancy({ device, nvml }: NvmlGpu, pool: TenantPool): BoardOccupancy {
  const listed = device.computeProcesses().map(({ pid }) => ({ pid, lineage: lineageOf(pid), name: nameOf(pid) }))
  const hasServer = listed.some(({ name }) => name !== null && MPS_SERVER.test(name))
  const tenants = (pool.processes?.() ?? []).map(({ pid, device: said }) => {
    const isListed = listed.some(({ lineage }) => lineage.includes(pid))
    if (/^cpu\b/i.test(said)) return { pid, device: said, isOnBoard: false }
    if (isListed) return { pid, device: said, isOnBoard: true }
    const elsewhere = otherBoards().some(({ lineage }) => lineage.includes(pid))
    const othersAreListed = listed.some(({ lineage }) => lineage.includes(process.pid))
    // A driver may list the MPS server but not its clients. The daemon has already verified the clients, so the place
    // stays unknown.
    return { pid, device: said, isOnBoard: elsewhere ? false : hasServer || !othersAreListed ? null : false }
  })
  const processes = listed
    .filter(({ name }) => name === null || !MPS_SERVER.test(name))
    .map(({ pid, name, lineage }) => ({ pid, name, isOurs: name === null ? null : lineage.includes(process.pid) }))
  return { processes, tenants }

  function otherBoards(): { readonly lineage: readonly number[] }[] {
    const found: { readonly lineage: readonly number[] }[] = []
    for (let index = 0; index < nvml.deviceCount; index++) {
      if (index === device.index) continue
      try {
        for (const { pid } of nvml.deviceByIndex(index).computeProcesses()) found.push({ lineage: lineageOf(pid) })
      } catch {
        // A lost board has no processes.
      }
    }
    return found
  }
}

/** Returns a process and its ancestors, nearest first; empty if there is no such process in this pid namespace. */
function lineageOf(pid: number): readonly number[] {
  const lineage: number[] = []
  for (let at = pid; at > 0 && lineage.length < DEEPEST; ) {
    const stat = readOrNull(`/proc/${at}/stat`)
    if (stat === null) break
    lineage.push(at)
    // The command name is in parentheses and may contain any character. State and parent pid follow the last
    // parenthesis.
    at = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  }
  return lineage
}

function nameOf(pid: number): string | null {
  return readOrNull(`/proc/${pid}/comm`)?.trim() ?? null
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return null
  }
}

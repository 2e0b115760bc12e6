import { readFileSync } from 'node:fs'
import type { NvmlGpu } from '@pctodl/nvml-control'
import type { BoardOccupancy, TenantPool } from '@pctodl/platform'

/** An MPS server uses the board for its clients, which the driver lists besides it. */
const MPS_SERVER = /^nvidia-cuda-mps/
/** Maximum number of ancestors of a process to check. */
const DEEPEST = 32

/**
 * Processes that the driver lists on a board, and the devices of its tenants. A process is ours if this one is its
 * ancestor. A tenant is on the board if it or a child of it is listed there; it is elsewhere if it runs on the CPU, is
 * listed on another board, or is missing from a list with others of ours. If the driver lists nobody, as in some
 * containers, nothing is known.
 *
 * @throws NvmlError where the driver does not answer
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
    // A driver that lists a server and no clients leaves them to the daemon, which has verified them.
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

/** The process and its ancestors, nearest first; empty if there is no such process here. */
function lineageOf(pid: number): readonly number[] {
  const lineage: number[] = []
  for (let at = pid; at > 0 && lineage.length < DEEPEST; ) {
    const stat = readOrNull(`/proc/${at}/stat`)
    if (stat === null) break
    lineage.push(at)
    // The name in brackets may contain anything; state and parent follow after it.
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

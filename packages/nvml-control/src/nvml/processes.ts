import { orNull } from './nvml-error.js'
import type { NvmlHandle } from './nvml-handle.js'

export interface ComputeProcess {
  readonly pid: number
  /** GPU memory that the process uses; null if not reported, e.g. in a container without the host's pid namespace. */
  readonly usedBytes: number | null
  /** Whether the process is a client of an MPS server; null if the driver does not report it. */
  readonly isMpsClient: boolean | null
  /** Id of the process's GPU instance; null if the board is not in MIG mode. */
  readonly gpuInstanceId: number | null
  readonly computeInstanceId: number | null
}

/** Size of `nvmlProcessInfo_t`, bytes: pid 4, padding 4, used bytes 8, GPU instance 4, compute instance 4. */
const ENTRY_BYTES = 24
const NOT_TOLD = 0xffffffff
const BYTES_NOT_TOLD = 0xffffffffffffffffn

export function readComputeProcesses(device: NvmlHandle): ComputeProcess[] {
  const all = device.list('nvmlDeviceGetComputeRunningProcesses_v3', ENTRY_BYTES)
  const clients = orNull(() => device.list('nvmlDeviceGetMPSComputeRunningProcesses_v3', ENTRY_BYTES))
  const clientPids = clients && new Set(clients.map(pidOf))
  const pids = new Set(all.map(pidOf))
  // Real drivers report MPS clients in both lists, so only clients that the first list lacks are added.
  const missed = clients?.filter((entry) => !pids.has(pidOf(entry))) ?? []
  return [...all, ...missed].map((entry) => {
    const pid = pidOf(entry)
    const used = entry.readBigUInt64LE(8)
    return {
      pid,
      usedBytes: used === BYTES_NOT_TOLD ? null : Number(used),
      isMpsClient: clientPids?.has(pid) ?? null,
      gpuInstanceId: told(entry.readUInt32LE(16)),
      computeInstanceId: told(entry.readUInt32LE(20)),
    }
  })
}

function pidOf(entry: Buffer): number {
  return entry.readUInt32LE(0)
}

function told(value: number): number | null {
  return value === NOT_TOLD ? null : value
}

import { NvmlError, orNull } from './nvml-error.js'
import type { NvmlHandle } from './nvml-handle.js'

export interface ComputeProcess {
  readonly pid: number
  /**
   * GPU memory that the process uses; null if the driver does not report it, for example in a container without the
   * host's pid namespace.
   */
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
const INSUFFICIENT_SIZE = 7

export function readComputeProcesses(device: NvmlHandle): ComputeProcess[] {
  const all = entries(device, 'nvmlDeviceGetComputeRunningProcesses_v3')
  const clients = orNull(() => entries(device, 'nvmlDeviceGetMPSComputeRunningProcesses_v3'))
  const clientPids = clients && new Set(clients.map(({ pid }) => pid))
  // Real drivers report MPS clients in both lists, so only clients that the first list lacks are added.
  const missed = clients?.filter(({ pid }) => !all.some((process) => process.pid === pid)) ?? []
  return [...all, ...missed].map((process) => ({ ...process, isMpsClient: clientPids?.has(process.pid) ?? null }))
}

function entries(
  device: NvmlHandle,
  call: 'nvmlDeviceGetComputeRunningProcesses_v3' | 'nvmlDeviceGetMPSComputeRunningProcesses_v3',
): Omit<ComputeProcess, 'isMpsClient'>[] {
  const count = new Uint32Array(1)
  for (let room = 64; ; room *= 2) {
    const buffer = Buffer.alloc(room * ENTRY_BYTES)
    count[0] = room
    const code = device.calls.get(call)(device.handle, count, buffer)
    // More processes may start before the next call, so the buffer is doubled and not only made as long as reported.
    if (code === INSUFFICIENT_SIZE && room < 65_536) continue
    if (code !== 0) throw new NvmlError(call, code, device.subject)
    return Array.from({ length: count[0]! }, (_, i) => entry(buffer, i * ENTRY_BYTES))
  }
}

function entry(buffer: Buffer, at: number): Omit<ComputeProcess, 'isMpsClient'> {
  const used = buffer.readBigUInt64LE(at + 8)
  return {
    pid: buffer.readUInt32LE(at),
    usedBytes: used === BYTES_NOT_TOLD ? null : Number(used),
    gpuInstanceId: told(buffer.readUInt32LE(at + 16)),
    computeInstanceId: told(buffer.readUInt32LE(at + 20)),
  }
}

function told(value: number): number | null {
  return value === NOT_TOLD ? null : value
}

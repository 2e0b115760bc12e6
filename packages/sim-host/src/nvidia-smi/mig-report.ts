import type { BoardReading } from '../board-file-reader.js'
import { type MigDeviceReading, migDevicesOf } from './mig-listing.js'
import { mebibytes, shown } from './reading.js'
import { type ReportNode, reportOf } from './report-tree.js'

const MIB = 1024 ** 2

/**
 * Returns the memory of a MIG device, bytes. It is the memory of its GPU instance; used memory excludes reserved
 * memory.
 */
export function migMemory({
  gpuInstance: { state, profile },
}: MigDeviceReading): Record<'totalBytes' | 'reservedBytes' | 'usedBytes' | 'freeBytes', number> {
  const totalBytes = profile.memoryMb * MIB
  const { usedBytes, reservedBytes } = state
  return { totalBytes, reservedBytes, usedBytes, freeBytes: totalBytes - reservedBytes - usedBytes }
}

/** Returns the MIG section of `nvidia-smi -q` for a board in MIG mode; empty for other boards. */
export function migReport(board: BoardReading): ReportNode[] {
  if (!board.state.migCurrent) return []
  const children = migDevicesOf(board).flatMap((device) => deviceReport(board, device))
  return [{ label: 'MIG Devices', tag: 'mig_devices', children, whenEmpty: 'None' }]
}

const device = `
MIG Device | mig_device
  Index | index | index
  GPU Instance ID | gpu_instance_id | gpuInstanceId
  Compute Instance ID | compute_instance_id | id
  Device Attributes | device_attributes
    Shared | shared
      Multiprocessor count | multiprocessor_count | smCount
      Copy Engine count | copy_engine_count | copyEngines
      Encoder count | encoder_count | =0
      Decoder count | decoder_count | decoders
      OFA count | ofa_count | ofas
      JPG count | jpg_count | jpegs
  ECC Errors | ecc_error_count
    Volatile | volatile_count
      SRAM Uncorrectable | sram_uncorrectable | =0
  FB Memory Usage | fb_memory_usage
    Total | total | totalBytes
    Reserved | reserved | reservedBytes
    Used | used | usedBytes
    Free | free | freeBytes
  BAR1 Memory Usage | bar1_memory_usage
    Total | total | bar1Bytes
    Used | used | =0 MiB
    Free | free | bar1Bytes
`

function deviceReport(board: BoardReading, reading: MigDeviceReading): ReportNode[] {
  const { index, computeInstance, gpuInstance } = reading
  const { profile } = gpuInstance
  const bar1Bytes = (board.identity.bar1TotalBytes * profile.memorySlices) / 8
  const values: Record<string, unknown> = { index, ...profile, ...computeInstance }
  const bytes: Record<string, number> = { bar1Bytes, ...migMemory(reading) }
  return reportOf(device, (field) => (field in bytes ? shown(mebibytes(bytes[field]!)) : String(values[field])))
}

import type { BoardReading } from '../board-file-reader.js'
import { type MigDeviceReading, migDevicesOf } from './mig-listing.js'
import { mebibytes, shown } from './reading.js'
import { item, type ReportNode, section } from './report-tree.js'

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
  const devices = migDevicesOf(board)
  if (devices.length === 0) return [{ label: 'MIG Devices', tag: 'mig_devices', children: [], whenEmpty: 'None' }]
  return [
    section(
      'MIG Devices',
      'mig_devices',
      devices.map((device) => deviceReport(board, device)),
    ),
  ]
}

function deviceReport(board: BoardReading, device: MigDeviceReading): ReportNode {
  const { index, computeInstance, gpuInstance } = device
  const { profile } = gpuInstance
  const mib = (bytes: number) => shown(mebibytes(bytes))
  const memory = migMemory(device)
  const bar1 = (board.identity.bar1TotalBytes * profile.memorySlices) / 8
  return section('MIG Device', 'mig_device', [
    item('Index', 'index', String(index)),
    item('GPU Instance ID', 'gpu_instance_id', String(computeInstance.gpuInstanceId)),
    item('Compute Instance ID', 'compute_instance_id', String(computeInstance.id)),
    section('Device Attributes', 'device_attributes', [
      section('Shared', 'shared', [
        item('Multiprocessor count', 'multiprocessor_count', String(computeInstance.smCount)),
        item('Copy Engine count', 'copy_engine_count', String(profile.copyEngines)),
        item('Encoder count', 'encoder_count', '0'),
        item('Decoder count', 'decoder_count', String(profile.decoders)),
        item('OFA count', 'ofa_count', String(profile.ofas)),
        item('JPG count', 'jpg_count', String(profile.jpegs)),
      ]),
    ]),
    section('ECC Errors', 'ecc_error_count', [
      section('Volatile', 'volatile_count', [item('SRAM Uncorrectable', 'sram_uncorrectable', '0')]),
    ]),
    section('FB Memory Usage', 'fb_memory_usage', [
      item('Total', 'total', mib(memory.totalBytes)),
      item('Reserved', 'reserved', mib(memory.reservedBytes)),
      item('Used', 'used', mib(memory.usedBytes)),
      item('Free', 'free', mib(memory.freeBytes)),
    ]),
    section('BAR1 Memory Usage', 'bar1_memory_usage', [
      item('Total', 'total', mib(bar1)),
      item('Used', 'used', '0 MiB'),
      item('Free', 'free', mib(bar1)),
    ]),
  ])
}

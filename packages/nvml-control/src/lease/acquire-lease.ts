import { randomUUID } from 'node:crypto'
import type { ClockRange } from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { foundState } from './found-state.js'
import { LeaseHeldError } from './lease-errors.js'
import { LeaseFolder } from './lease-folder.js'
import type { LeaseRecord } from './lease-record.js'
import { type LeasableBoard, NvmlLease } from './nvml-lease.js'
import { bootId, processIdentity, programNameOf } from './process-identity.js'
import { restoreLeftover } from './restore-leftovers.js'

export interface LeaseOptions {
  /** Folder of lock files and journals. Default: `$PCTODL_LEASE_DIR`, or `defaultLeaseFolder()`. */
  readonly leaseFolder?: string
  /**
   * Clock locks that the operator has set on this board and that `release` must restore. NVML cannot read clock locks,
   * so without this option `release` removes all of them.
   */
  readonly standingLocks?: { readonly smClock?: ClockRange; readonly memClock?: ClockRange }
  /** Time within which a change must appear in readings, ms. Default 1500. */
  readonly verifyDeadlineMs?: number
  /** Minimum time between two changes of the same setting, ms. Default 20. */
  readonly minSetIntervalMs?: number
}

/**
 * Acquires the exclusive right to change a board. First undoes what an earlier owner left changed.
 *
 * @throws LeaseHeldError naming the current owner
 * @throws RestoreError if an earlier owner's changes cannot be undone
 * @throws PctodlError `LEASE_FOLDER` if the lease folder is unusable
 */
export async function acquireLease(board: LeasableBoard, options: LeaseOptions = {}): Promise<NvmlLease> {
  const { device } = board
  const folder = new LeaseFolder(options.leaseFolder)
  const { uuid } = device
  const lock = folder.tryLock(uuid)
  if (!lock) throw new LeaseHeldError(device.subject, folder.holder(uuid))
  try {
    await restoreLeftover(folder, device)
    return new NvmlLease({
      ...board,
      folder,
      lock,
      record: newRecord(device, uuid, options.standingLocks),
      verifyDeadlineMs: options.verifyDeadlineMs ?? 1500,
      minSetIntervalMs: options.minSetIntervalMs ?? 20,
    })
  } catch (error) {
    lock.release()
    throw error
  }
}

function newRecord(device: NvmlDevice, uuid: string, standing: LeaseOptions['standingLocks']): LeaseRecord {
  const { pid } = process
  return {
    format: 'pctodl-lease',
    version: 1,
    leaseId: randomUUID(),
    gpu: { uuid, index: device.index, name: device.name },
    owner: {
      pid,
      startTime: processIdentity(pid)?.startTime ?? 0,
      bootId: bootId(),
      uid: process.getuid?.() ?? 0,
      program: programNameOf(pid) ?? '',
    },
    acquiredAt: new Date().toISOString(),
    found: foundState(device, { smClockLock: standing?.smClock ?? null, memClockLock: standing?.memClock ?? null }),
    touched: [],
  }
}

import { PctodlError, systemClock } from '@pctodl/platform'
import { applyChange, observe } from '../control/apply-change.js'
import { type BoardChange, changeBack, changeKinds, describeChange } from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { reasonOf } from '../reason-of.js'
import type { LeaseFolder } from './lease-folder.js'
import type { LeaseRecord } from './lease-record.js'
import { bootId } from './process-identity.js'

/** A board could not be restored. Its journal remains, so that the next program tries again. */
export class RestoreError extends PctodlError {
  constructor(message: string, cause: unknown) {
    super('RESTORE_FAILED', message, { cause })
  }

  /** Returns an error whose message begins with an earlier error. */
  after(error: unknown): RestoreError {
    return new RestoreError(`${reasonOf(error)}. And then ${this.message}`, error)
  }
}

export interface RestoreOutcome {
  readonly uuid: string
  /** The journal; null if it could not be read. */
  readonly record: LeaseRecord | null
  /**
   * `restored`: the board was restored. `rebooted`: the journal is from before the last boot, which has reset the
   * settings. `in-use`: the owner is still running. `failed`: see `error`.
   */
  readonly outcome: 'restored' | 'rebooted' | 'in-use' | 'failed'
  readonly error?: unknown
}

/** E.g. `restored GPU-...: SM clock reset (left by process 123, node train.js)`. */
export function describeOutcome({ uuid, record, outcome, error }: RestoreOutcome): string {
  if (outcome === 'failed') return `${uuid}: not restored: ${reasonOf(error)}`
  if (!record || outcome === 'in-use') return `${uuid}: in use by process ${record?.owner.pid ?? '(unknown)'}`
  const owner = `left by process ${record.owner.pid}, ${record.owner.program}`
  if (outcome === 'rebooted') return `${uuid}: journal of an earlier boot removed (${owner})`
  return `restored ${uuid}: ${changesBack(record).map(describeChange).join(', ')} (${owner})`
}

/** Number of attempts for each change, because a driver may be busy for a moment. */
const ATTEMPTS = 3
/** Time between attempts or readings, ms. */
const PAUSE_MS = 50
/** Time within which readings must show that a setting is restored, ms. */
const EFFECT_MS = 1000
/** Time to wait for the kernel to release a dead process's lock, ms. */
const LOCK_WAIT_MS = 2000
const POLL_MS = 10

/** Returns the changes that undo the owner's changes. A setting of unknown original value cannot have been changed. */
export function changesBack({ found, touched }: Pick<LeaseRecord, 'found' | 'touched'>): BoardChange[] {
  return changeKinds.filter((kind) => touched.includes(kind)).flatMap((kind) => changeBack(kind, found) ?? [])
}

/**
 * Restores a board, then removes its journal. A setting that already has its original value is skipped, except clock
 * locks, which cannot be read. The caller must hold the board's lock.
 * @throws RestoreError; the journal then remains and contains the reason
 */
export async function restore(device: NvmlDevice, record: LeaseRecord, folder: LeaseFolder): Promise<void> {
  const failures: string[] = []
  let cause: unknown
  for (const change of changesBack(record)) {
    const isLeft = change.kind === 'power-limit' && isLimitOfAnother(device, record)
    if (isLeft || (!('range' in change) && isApplied(device, change, false))) continue
    const error = await putBack(device, change)
    if (error === null) continue
    failures.push(`${describeChange(change)}: ${reasonOf(error)}`)
    cause ??= error
  }
  if (failures.length === 0) return folder.remove(record.gpu.uuid)
  const remedy = 'The journal is kept; run `pctodl gpu restore` when the cause is gone'
  const error = new RestoreError(`${device.subject} could not be put back: ${failures.join('; ')}. ${remedy}`, cause)
  try {
    folder.write({ ...record, lastError: error.message })
  } catch {
    // The old journal remains, and the caller gets the original error.
  }
  throw error
}

/**
 * Restores a board that an earlier owner left changed. The caller must hold the board's lock, which proves that the
 * owner has ended. Returns null if there is no journal.
 * @throws RestoreError, JournalError
 */
export async function restoreLeftover(folder: LeaseFolder, device: NvmlDevice): Promise<RestoreOutcome | null> {
  const { uuid } = device
  folder.removeUnfinished(uuid)
  const record = folder.read(uuid)
  if (!record) return null
  if (record.owner.bootId !== bootId()) {
    folder.remove(uuid)
    return { uuid, record, outcome: 'rebooted' }
  }
  await restore(device, record, folder)
  return { uuid, record, outcome: 'restored' }
}

/** Restores a board that a killed program left changed; with `leaseId`, only that lease. Null if it has no journal. */
export async function restoreBoard(
  folder: LeaseFolder,
  uuid: string,
  deviceOf: (uuid: string) => NvmlDevice,
  leaseId?: string,
): Promise<RestoreOutcome | null> {
  let record: LeaseRecord | null = null
  let lock: ReturnType<LeaseFolder['tryLock']> = null
  try {
    lock = folder.tryLock(uuid)
    record = folder.read(uuid)
    if (leaseId !== undefined && record?.leaseId !== leaseId) return null
    if (!lock) return { uuid, record, outcome: 'in-use' }
    return record && (await restoreLeftover(folder, deviceOf(uuid)))
  } catch (error) {
    return { uuid, record, outcome: 'failed', error }
  } finally {
    lock?.release()
  }
}

/**
 * Restores the board that the ended owner of a lease left changed. Waits a moment for the kernel to release the owner's
 * lock. A lock that stays in use belongs to another program, which has restored the board when it acquired the lease.
 * @returns null if another program has restored the board or now holds its lease
 */
export async function restoreAbandoned(
  ...lease: Required<Parameters<typeof restoreBoard>>
): Promise<RestoreOutcome | null> {
  for (let waitedMs = 0; waitedMs < LOCK_WAIT_MS; waitedMs += POLL_MS) {
    const restored = await restoreBoard(...lease)
    if (restored?.outcome !== 'in-use') return restored
    await systemClock.sleep(POLL_MS)
  }
  return null
}

/** Makes one change, with several attempts. Returns the last error, or null. */
async function putBack(device: NvmlDevice, change: BoardChange): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    try {
      await applyChange(device, change)
      // Clock locks cannot be read. A reading that fails is repeated.
      for (let waitedMs = 0; !('range' in change) && !isApplied(device, change, false); waitedMs += PAUSE_MS) {
        if (waitedMs >= EFFECT_MS) throw new Error('accepted, but not applied')
        await systemClock.sleep(PAUSE_MS)
      }
      return null
    } catch (error) {
      if (attempt === ATTEMPTS) return error
    }
    await systemClock.sleep(PAUSE_MS)
  }
}

/** Whether another program has changed the power limit since the lease's owner set it. */
export function isLimitOfAnother(device: NvmlDevice, { setLimitsW }: Pick<LeaseRecord, 'setLimitsW'>): boolean {
  // If the limit cannot be read now, it is taken to be the owner's, and is restored.
  const isSet = (powerLimitW: number) => isApplied(device, { kind: 'power-limit', powerLimitW }, true)
  return setLimitsW !== undefined && !setLimitsW.some(isSet)
}

function isApplied(device: NvmlDevice, change: BoardChange, ifUnreadable: boolean): boolean {
  try {
    return observe(device, change).applied
  } catch {
    return ifUnreadable
  }
}

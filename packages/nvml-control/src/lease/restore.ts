import { PctodlError } from '@pctodl/platform'
import { applyChange } from '../control/apply-change.js'
import { type BoardChange, changeKinds, describeChange, isClockLock } from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { changeBack } from './asked-change.js'
import type { LeaseRecord } from './lease-record.js'
import { observe } from './verify.js'

/** A board could not be restored. Its journal stays; the next program, or `pctodl gpu restore`, tries again. */
export class RestoreError extends PctodlError {
  readonly subject: string
  readonly failures: readonly { readonly change: BoardChange; readonly reason: string }[]

  constructor(subject: string, failures: RestoreError['failures'], cause: unknown, before = '') {
    super(
      'RESTORE_FAILED',
      `${before}${subject} could not be put back: ` +
        failures.map(({ change, reason }) => `${describeChange(change)}: ${reason}`).join('; ') +
        '. The journal is kept; run `pctodl gpu restore` when the cause is gone',
      { cause },
    )
    this.subject = subject
    this.failures = failures
  }

  /** This error as the consequence of an earlier one, which comes first in the message and becomes the cause. */
  after(error: unknown): RestoreError {
    const before = `${error instanceof Error ? error.message : String(error)}. And then `
    return new RestoreError(this.subject, this.failures, error, before)
  }
}

/** Attempts per change: a driver may be busy for a moment. */
const ATTEMPTS = 3
/** Time between attempts or readings, ms. */
const PAUSE_MS = 50
/** Readings, `PAUSE_MS` apart, until a change counts as failed. */
const EFFECT_PERIODS = 20

/**
 * The changes that restore a board: each touched setting to its value found. A setting with unknown value cannot have
 * been touched.
 */
export function changesBack({ found, touched }: Pick<LeaseRecord, 'found' | 'touched'>): BoardChange[] {
  return changeKinds
    .filter((kind) => touched.includes(kind))
    .map((kind) => changeBack(kind, found))
    .filter((change) => change !== null)
}

/**
 * Restore a board. Readable settings that are already right are skipped; clock locks cannot be read and are always
 * restored.
 *
 * @throws RestoreError
 */
export async function restore(device: NvmlDevice, record: LeaseRecord): Promise<void> {
  const failures: { change: BoardChange; reason: string }[] = []
  let cause: unknown
  for (const change of changesBack(record)) {
    if (isAppliedNow(device, change) || (change.kind === 'power-limit' && isLimitOfAnother(device, record))) continue
    const error = await putBack(device, change)
    if (error === undefined) continue
    failures.push({ change, reason: error instanceof Error ? error.message : String(error) })
    cause ??= error
  }
  if (failures.length > 0) throw new RestoreError(device.subject, failures, cause)
}

/** @returns undefined, or the error of the last attempt */
async function putBack(device: NvmlDevice, change: BoardChange): Promise<unknown> {
  let error: unknown
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt > 0) await pause()
    error = await applyChange(device, change).then(
      () => effect(device, change),
      (refused: unknown) => refused,
    )
    if (error === undefined) break
  }
  return error
}

/** Wait until a change shows, if it can be read. */
async function effect(device: NvmlDevice, change: BoardChange): Promise<Error | undefined> {
  if (isClockLock(change)) return undefined
  for (let i = 0; i < EFFECT_PERIODS; i++) {
    if (isAppliedNow(device, change)) return undefined
    await pause()
  }
  return new Error('accepted, but not applied')
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
}

function isAppliedNow(device: NvmlDevice, change: BoardChange): boolean {
  if (isClockLock(change)) return false
  try {
    return observe(device, change).applied
  } catch {
    // Not readable now: set it again, and let the setter report failure.
    return false
  }
}

/** Whether another program has set the power limit since the record's owner did. */
export function isLimitOfAnother(device: NvmlDevice, { setLimitsW }: Pick<LeaseRecord, 'setLimitsW'>): boolean {
  try {
    return setLimitsW?.every((powerLimitW) => !observe(device, { kind: 'power-limit', powerLimitW }).applied) ?? false
  } catch {
    // Not readable now: assume that it is ours, and restore it.
    return false
  }
}

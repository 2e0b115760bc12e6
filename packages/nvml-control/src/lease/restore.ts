import { PctodlError } from '@pctodl/platform'
import { applyChange } from '../control/apply-change.js'
import { type BoardChange, changeKinds, describeChange, isClockLock } from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { changeBack } from './asked-change.js'
import type { LeaseRecord } from './lease-record.js'
import { observe } from './verify.js'

/** A board could not be restored. Its journal remains, so the next program or `pctodl gpu restore` tries again. */
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

  /** Returns this error with an earlier error as its cause. The message begins with the earlier error. */
  after(error: unknown): RestoreError {
    const before = `${error instanceof Error ? error.message : String(error)}. And then `
    return new RestoreError(this.subject, this.failures, error, before)
  }
}

/** Attempts per change, because a driver may be busy for a moment. */
const ATTEMPTS = 3
/** Time between attempts or readings, ms. */
const PAUSE_MS = 50
/** Number of readings, `PAUSE_MS` apart, before a change counts as failed. */
const EFFECT_PERIODS = 20

/**
 * Returns the changes that restore a board. They set every changed setting to its original value. A setting with
 * unknown original value cannot have been changed.
 */
export function changesBack({ found, touched }: Pick<LeaseRecord, 'found' | 'touched'>): BoardChange[] {
  return changeKinds
    .filter((kind) => touched.includes(kind))
    .map((kind) => changeBack(kind, found))
    .filter((change) => change !== null)
}

/**
 * Restore a board. A setting that already has its original value is skipped. Clock locks cannot be read, so they are
 * always restored.
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

/** Wait until a reading shows the change. A clock lock cannot be read and is not checked. */
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
    // The setting cannot be read now. Set it again; the setter reports any failure.
    return false
  }
}

/** Whether another program has changed the power limit since the owner of the record set it. */
export function isLimitOfAnother(device: NvmlDevice, { setLimitsW }: Pick<LeaseRecord, 'setLimitsW'>): boolean {
  try {
    return setLimitsW?.every((powerLimitW) => !observe(device, { kind: 'power-limit', powerLimitW }).applied) ?? false
  } catch {
    // The limit cannot be read now. Assume that it is ours, and restore it.
    return false
  }
}

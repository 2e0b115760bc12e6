import { PctodlError } from '@pctodl/platform'
import { applyChange } from '../control/apply-change.js'
import { type BoardChange, changeKinds, describeChange, isClockLock } from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { changeBack } from './asked-change.js'
import type { LeaseRecord } from './lease-record.js'
import { observe } from './verify.js'

/**
 * Thrown if a board could not be restored. Its journal remains, so that the next program or `pctodl gpu restore` tries
 * again.
 */
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

  /** Returns this error with an earlier error as its cause. The message begins with that of the earlier error. */
  after(error: unknown): RestoreError {
    const before = `${error instanceof Error ? error.message : String(error)}. And then `
    return new RestoreError(this.subject, this.failures, error, before)
  }
}

/** Number of attempts for each change, because a driver may be busy for a moment. */
const ATTEMPTS = 3
/** Time between attempts or readings, ms. */
const PAUSE_MS = 50
/** Number of readings, `PAUSE_MS` apart, after which a change that they do not show counts as failed. */
const EFFECT_PERIODS = 20

/**
 * Returns the changes that restore a board: one for each setting that the owner changed, with its original value. A
 * setting whose original value is unknown cannot have been changed.
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

/**
 * Makes one change, with several attempts.
 * @returns undefined if it succeeded, otherwise the error of the last attempt
 */
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

/** Waits until a reading shows the change. Clock locks cannot be read, so they are not checked. */
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
    // The setting cannot be read now, so it is set again. The setter reports any failure.
    return false
  }
}

/** Whether another program has changed the power limit since the lease's owner set it. */
export function isLimitOfAnother(device: NvmlDevice, { setLimitsW }: Pick<LeaseRecord, 'setLimitsW'>): boolean {
  try {
    return setLimitsW?.every((powerLimitW) => !observe(device, { kind: 'power-limit', powerLimitW }).applied) ?? false
  } catch {
    // The limit cannot be read now. It is taken to be the owner's, and is restored.
    return false
  }
}

import { PctodlError } from '@pctodl/platform'
import { applyChange, applyChangeSync } from '../control/apply-change.js'
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

/** A step of a restoration for its driver to perform: apply a change, or wait. */
type Step = { readonly apply: BoardChange } | { readonly pauseMs: number }

/**
 * A whole restoration, independent of how changes are applied and time passes: a running process drives it with
 * promises, an ending one synchronously.
 */
function* restoration(device: NvmlDevice, record: LeaseRecord): Generator<Step, void, unknown> {
  const failures: { change: BoardChange; reason: string }[] = []
  let cause: unknown
  for (const change of changesBack(record)) {
    // Skip readable settings that are already right. Clock locks cannot be read and are always restored.
    if (isAppliedNow(device, change) || (change.kind === 'power-limit' && isLimitOfAnother(device, record))) continue
    let error: unknown
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (attempt > 0) yield { pauseMs: PAUSE_MS }
      error = yield { apply: change }
      if (error === undefined) {
        error = yield* effect(device, change)
        if (error === undefined) break
      }
    }
    if (error !== undefined) {
      failures.push({ change, reason: error instanceof Error ? error.message : String(error) })
      cause ??= error
    }
  }
  if (failures.length > 0) throw new RestoreError(device.subject, failures, cause)
}

/** Wait until a change shows, if it can be read. */
function* effect(device: NvmlDevice, change: BoardChange): Generator<Step, unknown, unknown> {
  if (isClockLock(change)) return undefined
  for (let i = 0; i < EFFECT_PERIODS; i++) {
    if (isAppliedNow(device, change)) return undefined
    yield { pauseMs: PAUSE_MS }
  }
  return new Error('accepted, but not applied')
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

/** @throws RestoreError */
export async function restore(device: NvmlDevice, record: LeaseRecord): Promise<void> {
  const steps = restoration(device, record)
  let answer: unknown
  for (;;) {
    const { done, value } = steps.next(answer)
    if (done) return
    answer = undefined
    if ('pauseMs' in value) await new Promise((resolve) => setTimeout(resolve, value.pauseMs))
    else answer = await applyChange(device, value.apply).catch((error: unknown) => error)
  }
}

/** For a process that is ending, where promises no longer run. @throws RestoreError */
export function restoreSync(device: NvmlDevice, record: LeaseRecord): void {
  const steps = restoration(device, record)
  const never = new Int32Array(new SharedArrayBuffer(4))
  let answer: unknown
  for (;;) {
    const { done, value } = steps.next(answer)
    if (done) return
    answer = undefined
    if ('pauseMs' in value) Atomics.wait(never, 0, 0, value.pauseMs)
    else {
      try {
        applyChangeSync(device, value.apply)
      } catch (error) {
        answer = error
      }
    }
  }
}

import { PctodlError } from '@pctodl/platform'
import { applyChange, applyChangeSync } from '../control/apply-change.js'
import { type BoardChange, changeKinds, describeChange, isClockLock } from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { changeBack } from './asked-change.js'
import type { LeaseRecord } from './lease-record.js'
import { observe } from './verify.js'

/** A board could not be put back. Its journal stays, and the next program, or `pctodl gpu restore`, tries again. */
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

  /** The same where something had failed before: that comes first in the message, and is the cause. */
  after(error: unknown): RestoreError {
    const before = `${error instanceof Error ? error.message : String(error)}. And then `
    return new RestoreError(this.subject, this.failures, error, before)
  }
}

/** Attempts per change, and the time between them: a driver may be busy for a moment. */
const ATTEMPTS = 3
const PAUSE_MS = 50
/** A change that the driver took shows within this time. */
const EFFECT_PERIODS = 20

/** What puts a board back: of what was touched, the values found. What was not known cannot have been touched. */
export function changesBack({ found, touched }: Pick<LeaseRecord, 'found' | 'touched'>): BoardChange[] {
  return changeKinds
    .filter((kind) => touched.includes(kind))
    .map((kind) => changeBack(kind, found))
    .filter((change) => change !== null)
}

/** What a restoration asks of the one who drives it: apply a change, or wait. */
type Step = { readonly apply: BoardChange } | { readonly pauseMs: number }

/**
 * The whole of a restoration, without a word about how changes are applied and time passes: a living process drives it with
 * promises, an ending one without an event loop.
 */
function* restoration(device: NvmlDevice, record: LeaseRecord): Generator<Step, void, unknown> {
  const failures: { change: BoardChange; reason: string }[] = []
  let cause: unknown
  for (const change of changesBack(record)) {
    // What can be read and is right already needs nothing; clock locks cannot be read and are always put back.
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

/** Wait until a change shows, where it can be read. */
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
    // Not readable now: then it is set again, and that tells.
    return false
  }
}

/** Whether another program has set the power limit since the owner of the record did. */
export function isLimitOfAnother(device: NvmlDevice, { setLimitsW }: Pick<LeaseRecord, 'setLimitsW'>): boolean {
  try {
    return setLimitsW?.every((powerLimitW) => !observe(device, { kind: 'power-limit', powerLimitW }).applied) ?? false
  } catch {
    // Not readable now: then it is taken for ours, and put back.
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

/** For a process that is ending: no promise is kept any more. @throws RestoreError */
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

import { z } from 'zod'
import {
  type ChangeKind,
  type ClockRange,
  type ComputeMode,
  changeKinds,
  computeModes,
  type FoundState,
} from '../control/board-change.js'

const mhz = z.int().min(1).max(100_000)

export const rangeSchema: z.ZodType<ClockRange> = z.strictObject({ minMhz: mhz, maxMhz: mhz })

export const computeModeSchema: z.ZodType<ComputeMode> = z.enum(computeModes)

/**
 * The journal of a lease, written before its first change: all that is needed to restore the board without its owner.
 */
export interface LeaseRecord {
  readonly format: 'pctodl-lease'
  readonly version: 1
  readonly leaseId: string
  readonly gpu: { uuid: string; index: number; name: string }
  readonly owner: {
    pid: number
    /** Start time of the owner's process, clock ticks since boot. */
    startTime: number
    bootId: string
    uid: number
    /** Base name of the owner's program. Arguments may contain access tokens, so they are not recorded. */
    program: string
  }
  /** ISO 8601. */
  readonly acquiredAt: string
  readonly found: FoundState
  /** Settings that the owner has changed or was about to change. */
  readonly touched: ChangeKind[]
  /** Power limits that this owner may have set, W. Another limit was set by another program, and is kept. */
  readonly setLimitsW?: number[] | undefined
  /** Why the last attempt to restore the board failed. */
  readonly lastError?: string | undefined
}

const leaseRecord: z.ZodType<LeaseRecord> = z.strictObject({
  format: z.literal('pctodl-lease'),
  version: z.literal(1),
  leaseId: z.uuid(),
  gpu: z.strictObject({ uuid: z.string().regex(/^[\w-]+$/), index: z.int().min(0), name: z.string() }),
  owner: z.strictObject({
    pid: z.int().min(1),
    startTime: z.number().min(0),
    bootId: z.string(),
    uid: z.int().min(0),
    program: z.string().max(64),
  }),
  acquiredAt: z.string(),
  found: z.strictObject({
    powerLimitW: z.number().positive().nullable(),
    computeMode: computeModeSchema.nullable(),
    persistence: z.boolean().nullable(),
    smClockLock: rangeSchema.nullable(),
    memClockLock: rangeSchema.nullable(),
  }),
  touched: z.array(z.enum(changeKinds)),
  setLimitsW: z.array(z.number().positive()).max(2).optional(),
  lastError: z.string().optional(),
})

/** @throws Error naming the invalid field */
export function parseLeaseRecord(text: string): LeaseRecord {
  return checked(leaseRecord, JSON.parse(text))
}

/** Returns a value from outside if it satisfies a schema. @throws Error naming the first invalid field */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  throw new Error(`${path.join('.') || 'the whole'}: ${message}`)
}

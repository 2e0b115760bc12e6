import { z } from 'zod'
import { changeKinds } from '../control/board-change.js'

const range = z.strictObject({ minMhz: z.int().min(1).max(100_000), maxMhz: z.int().min(1).max(100_000) })

const leaseRecord = z.strictObject({
  format: z.literal('pctodl-lease'),
  version: z.literal(1),
  leaseId: z.uuid(),
  gpu: z.strictObject({
    uuid: z.string().regex(/^[\w-]+$/),
    index: z.int().min(0),
    name: z.string(),
  }),
  owner: z.strictObject({
    pid: z.int().min(1),
    /** Clock ticks since boot. */
    startTime: z.number().min(0),
    bootId: z.string(),
    uid: z.int().min(0),
    command: z.string(),
  }),
  /** ISO 8601. */
  acquiredAt: z.string(),
  /** What the board was set to; null where the driver does not tell. */
  found: z.strictObject({
    powerLimitW: z.number().positive().nullable(),
    computeMode: z.enum(['default', 'exclusive-thread', 'prohibited', 'exclusive-process']).nullable(),
    persistence: z.boolean().nullable(),
    /** NVML cannot read clock locks: null is "not locked", the state of a board whose operator says nothing else. */
    smClockLock: range.nullable(),
    memClockLock: range.nullable(),
  }),
  /** What the owner has changed, or was about to. */
  touched: z.array(z.enum(changeKinds)),
  /** Why the last attempt to restore it did not succeed. */
  lastError: z.string().optional(),
})

/** What a lease writes down before it changes anything: all that is needed to put the board back without its owner. */
export type LeaseRecord = Readonly<z.infer<typeof leaseRecord>>
export type FoundState = LeaseRecord['found']

/** @throws Error naming the field */
export function parseLeaseRecord(text: string): LeaseRecord {
  const result = leaseRecord.safeParse(JSON.parse(text))
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  throw new Error(`${path.join('.') || 'the whole'}: ${message}`)
}

import { z } from 'zod'
import type { BoardChange, FoundState } from '../control/board-change.js'
import { checked, computeModeSchema, rangeSchema } from '../lease/lease-record.js'

/** Messages between the node service and its clients. Each line is one JSON value. Requests are answered in order. */

/** Protocol versions that this release supports, newest first. */
export const serviceProtocolVersions: readonly number[] = [3]

/** Maximum length of a line, bytes. A peer that sends a longer line is disconnected. */
export const MAX_REQUEST_BYTES: number = 16 * 1024
export const MAX_REPLY_BYTES: number = 256 * 1024

/** All requests. `board` is the UUID of a board or a MIG instance. A lease of an instance cannot change the board. */
export type ServiceRequestBody =
  /** The first request of a connection. The service selects the newest protocol version that both sides support. */
  | { readonly type: 'hello'; readonly versions: readonly number[]; readonly program: string }
  /** `silenceMs`: the lease ends if its connection sends no request for this time, ms. */
  | { readonly type: 'acquire'; readonly board: string; readonly silenceMs?: number | undefined }
  | { readonly type: 'verify' | 'release'; readonly board: string }
  | { readonly type: 'change'; readonly board: string; readonly change: BoardChange }
  /** Start an MPS daemon for the leased board. The daemon ends with the lease. */
  | { readonly type: 'mps-start'; readonly board: string; readonly defaultPercent?: number | undefined }
  | { readonly type: 'mps-stop'; readonly board: string; readonly graceMs: number }
  /** Check that a process is a client of the lease's MPS daemon and runs on the leased board. */
  | { readonly type: 'mps-verify'; readonly board: string; readonly pid: number }
  | { readonly type: 'status' }
  /**
   * Root only: end the leases that match all conditions. A job epilog sends this request. Without conditions, no lease
   * is ended. If `uid` is given, a lease of unknown workload matches any `workload`.
   */
  | {
      readonly type: 'end-leases'
      readonly uid: number | null
      readonly boards: readonly string[] | null
      readonly workload?: string | undefined
    }

export interface ServiceRequest {
  readonly id: number
  readonly body: ServiceRequestBody
}

/** Who holds the lease of a board or a MIG instance; null if nobody does. */
export type ServedLeaseState = {
  readonly uid: number
  readonly pid: number
  /** Slurm job (`slurm:<id>`) or Kubernetes pod (`pod:<uid>`) of the holder; null if the holder belongs to neither. */
  readonly workload: string | null
  readonly program: string
  readonly since: string
  readonly mps: boolean
} | null

export interface ServedBoardState {
  readonly uuid: string
  readonly index: number
  readonly name: string
  /** `lost`: the board cannot be read. `unrestored`: changes of an earlier owner have not been undone yet. */
  readonly condition: 'ok' | 'lost' | 'unrestored'
  readonly reason: string | null
  readonly lease: ServedLeaseState
  /** The board's MIG instances. Each can be leased separately. */
  readonly instances: readonly { readonly uuid: string; readonly name: string; readonly lease: ServedLeaseState }[]
}

export interface ServiceStatus {
  readonly ready: boolean
  readonly reasons: readonly string[]
  readonly boards: readonly ServedBoardState[]
}

export interface ServiceResults extends Record<'change' | 'verify' | 'release' | 'mps-verify', null> {
  readonly hello: { readonly version: number; readonly service: string; readonly boards: readonly string[] }
  readonly acquire: { readonly found: FoundState }
  readonly 'mps-start': { readonly pid: number; readonly pipeDirectory: string; readonly logDirectory: string }
  readonly 'mps-stop': { readonly how: string }
  readonly status: ServiceStatus
  readonly 'end-leases': { readonly ended: readonly string[] }
}

export type ServiceMessage =
  | { readonly id: number; readonly result: unknown }
  /** An error answer. `id` is null if the line was not a valid request. */
  | { readonly id: number | null; readonly error: { readonly code: string; readonly message: string } }
  /** A notification: the lease has ended, because the board was lost or the operator ended the lease. */
  | { readonly event: 'lease-ended'; readonly board: string; readonly reason: string }

const boardUuid = z
  .string()
  .regex(/^(GPU|MIG)-[0-9a-f-]{1,60}$/i, 'a UUID of a board (GPU-...) or of a MIG instance (MIG-...)')

const boardChange = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('power-limit'), powerLimitW: z.number().positive().max(100_000) }),
  z.strictObject({ kind: z.enum(['sm-clock', 'mem-clock']), range: rangeSchema.nullable() }),
  z.strictObject({ kind: z.literal('compute-mode'), mode: computeModeSchema }),
  z.strictObject({ kind: z.literal('persistence'), enabled: z.boolean() }),
])

const percent = z.number().positive().max(100)
const label = z.string().regex(/^[\w.:/+-]{1,64}$/, 'at most 64 letters, digits and ._:/+-')

const bodies = [
  z.strictObject({ type: z.literal('hello'), versions: z.array(z.int().min(1)).min(1).max(16), program: label }),
  z.strictObject({ type: z.literal('acquire'), board: boardUuid, silenceMs: z.int().min(500).max(600_000).optional() }),
  z.strictObject({ type: z.literal('change'), board: boardUuid, change: boardChange }),
  z.strictObject({ type: z.enum(['verify', 'release']), board: boardUuid }),
  z.strictObject({ type: z.literal('mps-start'), board: boardUuid, defaultPercent: percent.optional() }),
  z.strictObject({ type: z.literal('mps-stop'), board: boardUuid, graceMs: z.int().min(0).max(60_000) }),
  z.strictObject({ type: z.literal('mps-verify'), board: boardUuid, pid: z.int().min(1) }),
  z.strictObject({ type: z.literal('status') }),
  z.strictObject({
    type: z.literal('end-leases'),
    uid: z.int().min(0).nullable(),
    boards: z.array(boardUuid).max(64).nullable(),
    workload: z
      .string()
      .regex(/^(slurm:\d{1,20}|pod:[0-9a-f-]{32,36})$/, 'slurm:<job id> or pod:<uid>')
      .optional(),
  }),
] as const

const serviceRequest: z.ZodType<ServiceRequest> = z.strictObject({
  id: z.int().min(0),
  body: z.discriminatedUnion('type', bodies),
})

const serviceMessage: z.ZodType<ServiceMessage> = z.union([
  z.strictObject({ id: z.int(), result: z.unknown() }),
  z.strictObject({ id: z.int().nullable(), error: z.strictObject({ code: z.string(), message: z.string() }) }),
  z.strictObject({ event: z.literal('lease-ended'), board: z.string(), reason: z.string() }),
])

/** @throws Error naming the invalid field */
export function parseServiceRequest(line: string): ServiceRequest {
  return checked(serviceRequest, JSON.parse(line))
}

export function parseServiceMessage(line: string): ServiceMessage {
  return checked(serviceMessage, JSON.parse(line))
}

import type { FailureKind } from '@pctodl/gpu-sim'
import type { LayerGraph } from '@pctodl/model-zoo'
import { InvalidInputError, type Tenant, type TenantCounters } from '@pctodl/platform'
import { z } from 'zod'

/**
 * Protocol version, incremented when the meaning of a message changes. A request may name its version; other versions
 * are rejected.
 */
export const CONTROL_PROTOCOL = 1

/**
 * Work that a process describes itself, in place of a known network. A batch runs `kernels` equal matrix products. The
 * other amounts are those of one such kernel.
 */
export interface GivenWork {
  readonly kernels: number
  /** Floating-point operations of one kernel per sample. */
  readonly flops: number
  /** Activation elements that one kernel reads and writes per sample. */
  readonly elements: number
  /** Weight elements that one kernel reads per batch. */
  readonly weights: number
}

export interface AttachRequest {
  readonly kind: 'attach'
  readonly pid: number
  readonly uid: number
  /** Name of the process in the driver's process table. */
  readonly name: string
  /** Device that the process uses, in the notation of `CUDA_VISIBLE_DEVICES`. */
  readonly gpu: string
  readonly pipeDirectory: string
  readonly tenant: Tenant
  /** Work to run instead of the tenant's network. */
  readonly work?: GivenWork | undefined
  /** Whether the process runs a batch only when it sends a `step` request. */
  readonly stepwise: boolean
}

/** Request of a host program to the simulator. */
export type ControlRequest =
  | { kind: 'set'; gpuIndex: number; operation: number; first: number; second: number; third?: number; uid: number }
  /** `visible` is the MPS daemon's own `CUDA_VISIBLE_DEVICES`. */
  | { kind: 'mps-daemon'; pipeDirectory: string; visible?: string }
  | { kind: 'mps-command'; line: string }
  | AttachRequest
  | { kind: 'counters' }
  | { kind: 'batch-size'; batchSize: number }
  | { kind: 'step'; batchSize: number }
  | { kind: 'boards' }

export interface AttachReply {
  readonly protocol: number
  /** 0 if the process is attached, else the CUDA error that it gets instead of a context. */
  readonly cudaError: number
  readonly message: string
  readonly isMpsClient: boolean
  readonly mpsPercent: number
}

export interface StepReply {
  /** 0, or the error that the process's next CUDA call returns. */
  readonly cudaError: number
  readonly message: string
  /** Duration of the batch on the board's clock, ms. */
  readonly durationMs: number
}

export type CountersReply = TenantCounters & {
  /** 0, or the error that the next CUDA call of the process returns. */
  readonly cudaError: number
  readonly failureKind?: FailureKind
}

/** Present state of a board. A value is null if its sensor reports nothing or the board is lost. */
export interface BoardReply {
  readonly index: number
  readonly uuid: string
  readonly name: string
  readonly smClockMhz: number | null
  readonly memClockMhz: number | null
  readonly powerW: number | null
  readonly powerLimitW: number | null
  /** Energy since the host started, J. */
  readonly energyJ: number | null
  /** Share of the last half second in which at least one kernel ran, percent. */
  readonly busyPercent: number | null
  /** Exact values that no sensor reports. Use them to evaluate governors, not inside governors. */
  readonly truth: { readonly powerW: number; readonly energyJ: number }
}

export interface BoardsReply {
  readonly protocol: number
  /** Monotonic time of the reading, ms. */
  readonly timeMs: number
  readonly boards: readonly BoardReply[]
}

const id = z.int().max(2 ** 32 - 1)
const batchSize = z.int().min(1).max(65_536)
const text = z
  .string()
  .max(4096)
  .regex(/^\P{Cc}*$/u, 'text without control characters')
/** Names have the length of a name in the process table. */
const name = text.max(95)

const request = <Kind extends ControlRequest['kind'], Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) =>
  z.object({ kind: z.literal(kind), protocol: z.literal(CONTROL_PROTOCOL).optional(), ...shape })

const controlRequest: z.ZodType<ControlRequest> = z.discriminatedUnion(
  'kind',
  [
    request('attach', {
      pid: id.min(1),
      uid: id.min(0).default(0),
      name,
      gpu: text.default('0'),
      pipeDirectory: text.default(''),
      tenant: z
        .object({
          model: name.default('unnamed'),
          batchSize: batchSize.default(1),
          mpsPercent: z.number().min(0).max(100).default(100),
        })
        .prefault({}),
      work: z
        .object({
          kernels: z.int().min(1).max(4096),
          flops: z.int().min(1).max(1e15),
          elements: z.int().min(1).max(1e12),
          weights: z.int().min(0).max(1e12),
        })
        .optional(),
      stepwise: z.boolean().default(false),
    }),
    request('step', { batchSize }),
    request('batch-size', { batchSize }),
    request('set', {
      gpuIndex: id.min(0),
      operation: id.min(0),
      first: z.number(),
      second: z.number(),
      third: z.number().default(0),
      uid: id.min(0),
    }),
    request('mps-daemon', { pipeDirectory: text, visible: text.default('') }),
    request('mps-command', { line: text }),
    request('counters', {}),
    request('boards', {}),
  ],
  { error: 'attach, step, boards, counters or batch-size' },
)

/**
 * Checks a received message.
 *
 * @throws InvalidInputError for an invalid request
 */
export function parseControlRequest(message: unknown): ControlRequest {
  const { data, error } = controlRequest.safeParse(message, { reportInput: true })
  if (data) return data
  const { path, input, message: expected } = error.issues[0]!
  throw new InvalidInputError(['request', ...path].join('.'), input, expected.replace(/^.*: expected /, ''))
}

/** Returns the network that executes the given work. Equal work gets the same network name. */
export function givenNetwork({ kernels, flops, elements, weights }: GivenWork): LayerGraph {
  const layer = {
    operator: 'MatMul',
    operatorClass: 'linear' as const,
    flops,
    inputElements: elements / 2,
    outputElements: elements / 2,
    weightElements: weights,
    inputs: [],
    outputShape: [],
  }
  return {
    name: `given:${kernels}:${flops}:${elements}:${weights}`,
    layers: Array.from({ length: kernels }, (_, i) => ({ ...layer, name: `kernel${i}` })),
    parameters: kernels * weights,
    weightElements: kernels * weights,
    peakActivationElements: elements,
    prefetched: true,
    unknownOperators: [],
  }
}

import type { FailureKind } from '@pctodl/gpu-sim'
import type { LayerGraph } from '@pctodl/model-zoo'
import { InvalidInputError, type Tenant, type TenantCounters } from '@pctodl/platform'

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
  readonly work?: GivenWork
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

export interface SetReply {
  /** NVML return code. */
  readonly code: number
  /** Id of a created instance, or NVML's return code of a MIG mode change; 0 for other requests. */
  readonly value: number
}

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

const MAX_BATCH_SIZE = 65_536
const MAX_TEXT = 4096
/** Maximum length of a name in the process table. */
const MAX_NAME = 95
const MAX_ID = 2 ** 32 - 1

/**
 * Checks a received message.
 *
 * @throws InvalidInputError for an invalid request
 */
export function parseControlRequest(message: unknown): ControlRequest {
  const request = new Fields('request', message)
  if (request.value('protocol') !== undefined) request.integer('protocol', CONTROL_PROTOCOL, CONTROL_PROTOCOL)
  const kind = request.text('kind', MAX_NAME)
  switch (kind) {
    case 'attach': {
      const given = request.value('work')
      const tenant = new Fields('tenant', request.value('tenant') ?? (given === undefined ? undefined : {}))
      return {
        kind,
        pid: request.integer('pid', 1, MAX_ID),
        uid: request.integer('uid', 0, MAX_ID, 0),
        name: request.text('name', MAX_NAME),
        gpu: request.text('gpu', MAX_TEXT, '0'),
        pipeDirectory: request.text('pipeDirectory', MAX_TEXT, ''),
        tenant: {
          model: tenant.text('model', MAX_NAME, given === undefined ? undefined : 'given'),
          batchSize: tenant.integer('batchSize', 1, MAX_BATCH_SIZE, 1),
          mpsPercent: tenant.number('mpsPercent', 0, 100, 100),
        },
        ...(given === undefined ? {} : { work: givenWork(new Fields('work', given)) }),
        stepwise: request.value('stepwise') === true,
      }
    }
    case 'step':
    case 'batch-size':
      return { kind, batchSize: request.integer('batchSize', 1, MAX_BATCH_SIZE) }
    case 'set':
      return {
        kind,
        gpuIndex: request.integer('gpuIndex', 0, MAX_ID),
        operation: request.integer('operation', 0, MAX_ID),
        first: request.integer('first', -Number.MAX_VALUE, Number.MAX_VALUE),
        second: request.integer('second', -Number.MAX_VALUE, Number.MAX_VALUE),
        third: request.integer('third', -Number.MAX_VALUE, Number.MAX_VALUE, 0),
        uid: request.integer('uid', 0, MAX_ID),
      }
    case 'mps-daemon':
      return {
        kind,
        pipeDirectory: request.text('pipeDirectory', MAX_TEXT),
        visible: request.text('visible', MAX_TEXT, ''),
      }
    case 'mps-command':
      return { kind, line: request.text('line', MAX_TEXT) }
    case 'counters':
    case 'boards':
      return { kind }
    default:
      throw new InvalidInputError('request.kind', kind, 'attach, step, boards, counters or batch-size')
  }
}

function givenWork(fields: Fields): GivenWork {
  return {
    kernels: fields.integer('kernels', 1, 4096),
    flops: fields.integer('flops', 1, 1e15),
    elements: fields.integer('elements', 1, 1e12),
    weights: fields.integer('weights', 0, 1e12),
  }
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

/** Reads the fields of a received object and checks their values. */
class Fields {
  readonly #name: string
  readonly #fields: Readonly<Record<string, unknown>>

  constructor(name: string, value: unknown) {
    if (typeof value !== 'object' || value === null) throw new InvalidInputError(name, value, 'an object')
    this.#name = name
    this.#fields = value as Readonly<Record<string, unknown>>
  }

  value(field: string): unknown {
    return Object.hasOwn(this.#fields, field) ? this.#fields[field] : undefined
  }

  integer(field: string, min: number, max: number, otherwise?: number): number {
    const value = this.number(field, min, max, otherwise)
    if (Number.isInteger(value)) return value
    throw new InvalidInputError(`${this.#name}.${field}`, value, 'an integer')
  }

  number(field: string, min: number, max: number, otherwise?: number): number {
    const value = this.value(field) ?? otherwise
    if (typeof value === 'number' && value >= min && value <= max) return value
    throw new InvalidInputError(`${this.#name}.${field}`, value, `a number of ${min} to ${max}`)
  }

  text(field: string, maxLength: number, otherwise?: string): string {
    const value = this.value(field) ?? otherwise
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal would execute these characters
    if (typeof value === 'string' && value.length <= maxLength && !/[\u0000-\u001f\u007f]/.test(value)) return value
    throw new InvalidInputError(`${this.#name}.${field}`, value, `text of at most ${maxLength} characters`)
  }
}

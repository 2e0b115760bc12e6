import type { FailureKind } from '@pctodl/gpu-sim'
import type { LayerGraph } from '@pctodl/model-zoo'
import { InvalidInputError, type Tenant, type TenantCounters } from '@pctodl/platform'

/** Raised when a message changes its meaning. A request may name the protocol it was written for; another one is refused. */
export const CONTROL_PROTOCOL = 1

/** Work that a process states itself: so many equal matrix products a batch, each of these amounts a sample. */
export interface GivenWork {
  readonly kernels: number
  /** Floating-point operations of a kernel per sample. */
  readonly flops: number
  /** Activation elements that a kernel reads and writes per sample. */
  readonly elements: number
  /** Weight elements that a kernel reads once a batch. */
  readonly weights: number
}

export interface AttachRequest {
  readonly kind: 'attach'
  readonly pid: number
  readonly uid: number
  /** In the driver's process table. */
  readonly name: string
  /** As in `CUDA_VISIBLE_DEVICES`. */
  readonly gpu: string
  readonly pipeDirectory: string
  readonly tenant: Tenant
  /** In place of the tenant's network. */
  readonly work?: GivenWork
  /** It runs a batch only when a `step` asks for it. */
  readonly stepwise: boolean
}

/** What the host's programs ask of the simulator. */
export type ControlRequest =
  | { kind: 'set'; gpuIndex: number; operation: number; first: number; second: number; third?: number; uid: number }
  /** `visible` is the daemon's own `CUDA_VISIBLE_DEVICES`. */
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
  /** The id of what was created, or the outcome of an activation. */
  readonly value: number
}

export interface AttachReply {
  readonly protocol: number
  /** 0, or the CUDA error that the process gets instead of a context. */
  readonly cudaError: number
  readonly message: string
  readonly isMpsClient: boolean
  readonly mpsPercent: number
}

export interface StepReply {
  /** 0, or what the process's CUDA call returns. */
  readonly cudaError: number
  readonly message: string
  /** On the board's clock, ms. */
  readonly durationMs: number
}

export type CountersReply = TenantCounters & {
  /** 0, or what the process's next CUDA call returns. */
  readonly cudaError: number
  readonly failureKind?: FailureKind
}

/** One board now. Null where its sensor tells nothing, or the board is lost. */
export interface BoardReply {
  readonly index: number
  readonly uuid: string
  readonly name: string
  readonly smClockMhz: number | null
  readonly memClockMhz: number | null
  readonly powerW: number | null
  readonly powerLimitW: number | null
  /** Since the host was started, J. */
  readonly energyJ: number | null
  /** Share of the last half second in which something ran. */
  readonly busyPercent: number | null
  /** What no sensor tells: for judges, not for governors. */
  readonly truth: { readonly powerW: number; readonly energyJ: number }
}

export interface BoardsReply {
  readonly protocol: number
  /** Monotonic, ms. */
  readonly timeMs: number
  readonly boards: readonly BoardReply[]
}

const MAX_BATCH_SIZE = 65_536
const MAX_TEXT = 4096
/** As long as the process table has room for. */
const MAX_NAME = 95
const MAX_ID = 2 ** 32 - 1

/** @throws InvalidInputError for what is no request of this protocol */
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

/** The same work has the same name. */
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

/** The fields of an object that somebody else wrote. */
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
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal would obey
    if (typeof value === 'string' && value.length <= maxLength && !/[\u0000-\u001f\u007f]/.test(value)) return value
    throw new InvalidInputError(`${this.#name}.${field}`, value, `text of at most ${maxLength} characters`)
  }
}

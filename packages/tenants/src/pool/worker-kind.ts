import type { Tenant } from '@pctodl/platform'
import type { ProtocolVersion } from '../protocol/messages.js'

/** How to start the process of a tenant. */
export interface WorkerLaunch {
  readonly program: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** ONNX file, for workers that need one. */
  readonly modelFile?: string
  /**
   * Newest protocol version that the worker supports. Default: 1 for a free-running tenant, so that old workers still
   * work; 2 for a tenant that serves requests, because requests need it.
   */
  readonly protocol?: ProtocolVersion
  /** Options that the pool passes to the worker unchanged. */
  readonly options?: Readonly<Record<string, unknown>>
  /** Memory that one sample of a running batch needs, bytes, if known. */
  readonly sampleBytes?: number
  readonly memoryLimitBytes?: number
}

/** A kind of worker: it determines how to start a worker for a tenant. */
export interface WorkerKind {
  /** Description, e.g. `onnxruntime-node`. */
  readonly name: string
  launch(tenant: Tenant): Promise<WorkerLaunch> | WorkerLaunch
}

/** Workers that run any program that implements the protocol. @param command the program and its arguments */
export function commandWorker(
  command: readonly [string, ...string[]],
  options: Omit<WorkerLaunch, 'program' | 'args'> = {},
): WorkerKind {
  const [program, ...args] = command
  return { name: command.join(' '), launch: () => ({ ...options, program, args }) }
}

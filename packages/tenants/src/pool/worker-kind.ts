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
   * Newest protocol version that the worker supports. Default: 2 for a tenant that serves requests, which need version
   * 2; 1 for other tenants, so that old workers still work.
   */
  readonly protocol?: ProtocolVersion
  /** Options that the pool passes to the worker without reading them. */
  readonly options?: Readonly<Record<string, unknown>>
  /** Memory that a batch needs per sample, bytes, if known. */
  readonly sampleBytes?: number
  readonly memoryLimitBytes?: number
}

/** A kind of worker: how to start a worker for a tenant. */
export interface WorkerKind {
  /** Description, e.g. `onnxruntime-node`. */
  readonly name: string
  launch(tenant: Tenant): Promise<WorkerLaunch> | WorkerLaunch
}

/**
 * Workers that run any program which implements the protocol.
 * @param command the program and its arguments
 */
export function commandWorker(
  command: readonly [string, ...string[]],
  options: Omit<WorkerLaunch, 'program' | 'args'> = {},
): WorkerKind {
  const [program, ...args] = command
  return { name: command.join(' '), launch: () => ({ ...options, program, args }) }
}

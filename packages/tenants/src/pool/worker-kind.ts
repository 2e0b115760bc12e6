import type { Tenant } from '@pctodl/platform'
import type { ProtocolVersion } from '../protocol/messages.js'

/** How a process is started for a tenant. */
export interface WorkerLaunch {
  readonly program: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** ONNX file, for workers that need one. */
  readonly modelFile?: string
  /**
   * Newest protocol version that the worker supports. Default: 1 for a free-running tenant, so that old workers still
   * work, and 2 for one that serves requests, which needs it.
   */
  readonly protocol?: ProtocolVersion
  /** Passed to the worker unchanged. */
  readonly options?: Readonly<Record<string, unknown>>
  /** Memory that one sample in flight needs, bytes, if known. */
  readonly sampleBytes?: number
  readonly memoryLimitBytes?: number
}

/** A kind of worker: it determines how to start a worker for a tenant. */
export interface WorkerKind {
  /** Description, e.g. `onnxruntime-node`. */
  readonly name: string
  launch(tenant: Tenant): Promise<WorkerLaunch> | WorkerLaunch
}

/** Workers that are any program implementing the protocol. @param command the program and its arguments */
export function commandWorker(
  command: readonly [string, ...string[]],
  options: Omit<WorkerLaunch, 'program' | 'args'> = {},
): WorkerKind {
  const [program, ...args] = command
  return { name: command.join(' '), launch: () => ({ ...options, program, args }) }
}

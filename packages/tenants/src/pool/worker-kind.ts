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
   * Newest version of the protocol that the worker speaks. Default: 1 for a tenant that runs freely, so that workers of that version
   * go on working, and 2 for one that serves requests, which it takes.
   */
  readonly protocol?: ProtocolVersion
  /** Goes to the worker as it is. */
  readonly options?: Readonly<Record<string, unknown>>
  /** Memory that one sample in flight takes, bytes, where it is known. */
  readonly sampleBytes?: number
  readonly memoryLimitBytes?: number
}

/** A kind of worker: anything that can say how to start one for a tenant. */
export interface WorkerKind {
  /** In words, e.g. `onnxruntime-node`. */
  readonly name: string
  launch(tenant: Tenant): Promise<WorkerLaunch> | WorkerLaunch
}

/**
 * Any program that speaks the protocol.
 *
 * @param command the program and its arguments
 */
export function commandWorker(
  command: readonly [string, ...string[]],
  options: Omit<WorkerLaunch, 'program' | 'args'> = {},
): WorkerKind {
  const [program, ...args] = command
  return { name: command.join(' '), launch: () => ({ ...options, program, args }) }
}

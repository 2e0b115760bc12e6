import type { NvmlCallName, NvmlCalls } from './nvml-calls.js'

/** A board or a MIG instance: what functions that read lists from NVML need. */
export interface NvmlHandle {
  readonly calls: NvmlCalls
  /** NVML's own handle. */
  readonly handle: unknown
  /** Name in error messages. */
  readonly subject: string
  readonly name: string
  readonly uuid: string
  /** @throws NvmlError */
  check(name: NvmlCallName, ...args: unknown[]): void
  /** Wraps another handle of the same library. */
  at(handle: unknown, subject: string): NvmlHandle
}

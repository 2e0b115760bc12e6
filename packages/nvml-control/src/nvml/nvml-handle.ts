import type { NvmlCallName, NvmlCalls } from './nvml-calls.js'

/** What NVML gives out a handle for, a board or a MIG instance, as far as reading lists of it needs to know. */
export interface NvmlHandle {
  readonly calls: NvmlCalls
  /** NVML's own handle. */
  readonly handle: unknown
  /** What errors call it. */
  readonly subject: string
  readonly name: string
  readonly uuid: string
  /** @throws NvmlError */
  check(name: NvmlCallName, ...args: unknown[]): void
  /** What stands behind another handle of the same library. */
  at(handle: unknown, subject: string): NvmlHandle
}

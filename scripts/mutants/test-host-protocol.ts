export interface TestRequest {
  /** Files, absolute, with the texts that take their places. */
  readonly sources: readonly { readonly file: string; readonly text: string }[]
  /** In the order in which they run. */
  readonly tests: readonly RequestedTests[]
  /** What they may compute, ms of all threads. A machine that others use too makes a test no slower in this. */
  readonly limitCpuMs: number
  /** What the process may take, bytes. Default 4 GiB: it has 0.6 GiB with most tests. */
  readonly limitBytes?: number
}

/** A test file, or some of its cases. */
export interface RequestedTests {
  /** Absolute. */
  readonly file: string
  /** By `ReachingCase.id`. Default: all. */
  readonly cases?: readonly string[]
}

export interface TestAnswer {
  readonly passed: boolean
  /** The first test that failed and why, or what could not be loaded. */
  readonly failure: string | null
  readonly cpuMs: number
  /** The marks (`markedSource`) that ran outside of any case: while modules were loaded, cases collected, and between cases. */
  readonly reached: readonly number[]
  /** Those cases that ran, with the marks that ran in them. */
  readonly cases: readonly ReachingCase[]
}

export interface ReachingCase {
  readonly id: string
  readonly durationMs: number
  readonly reached: readonly number[]
}

/** The exit code of a host whose tests computed too long. */
export const LIMIT_REACHED = 124
/** Of one whose tests took too much memory. */
export const MEMORY_TAKEN = 125

/** What a marked source calls with the index of a mutant. */
export const MARK = 'globalThis.pctodlReached'

/** What the results of a test file and of its cases carry. */
export interface ReachedMeta {
  reached?: readonly number[]
}

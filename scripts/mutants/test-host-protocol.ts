export interface TestRequest {
  /** Files (absolute paths), with the texts that replace their contents. */
  readonly sources: readonly { readonly file: string; readonly text: string }[]
  /** The tests, in the order in which they run. */
  readonly tests: readonly RequestedTests[]
  /**
   * Limit of the tests' CPU time over all threads, ms. Unlike wall time, it does not depend on the load of the machine.
   */
  readonly limitCpuMs: number
  /** Limit of the process's memory, bytes. Default 4 GiB; most tests need 0.6 GiB. */
  readonly limitBytes?: number
}

/** A test file, or some of its cases. */
export interface RequestedTests {
  /** Absolute path. */
  readonly file: string
  /** Ids of the cases to run (`ReachingCase.id`). Default: all. */
  readonly cases?: readonly string[]
}

export interface TestAnswer {
  readonly passed: boolean
  /** The first failed test and its error, or the error of loading the tests; null if all passed. */
  readonly failure: string | null
  readonly cpuMs: number
  /**
   * Marks (see `markedSource`) that ran outside of any case: while modules were loaded, while cases were collected, or
   * between cases.
   */
  readonly reached: readonly number[]
  /** The cases that ran, each with the marks that ran in it. */
  readonly cases: readonly ReachingCase[]
}

export interface ReachingCase {
  readonly id: string
  readonly durationMs: number
  readonly reached: readonly number[]
}

/** Exit code of the host if the tests exceeded the limit of CPU time. */
export const LIMIT_REACHED = 124
/** Exit code of the host if the tests exceeded the limit of memory. */
export const MEMORY_TAKEN = 125

/** Function that a marked source calls with the index of a mutant. */
export const MARK = 'globalThis.pctodlReached'

/** Metadata that is attached to the results of a test file and of its cases. */
export interface ReachedMeta {
  reached?: readonly number[]
}

export interface TestRequest {
  /** Files, absolute, with the texts that take their places. */
  readonly sources: readonly { readonly file: string; readonly text: string }[]
  /** Absolute, in the order in which they run. */
  readonly tests: readonly string[]
  /** What they may compute, ms of all threads. A machine that others use too makes a test no slower in this. */
  readonly limitCpuMs: number
}

export interface TestAnswer {
  readonly passed: boolean
  /** The first test that failed and why, or what could not be loaded. */
  readonly failure: string | null
  readonly cpuMs: number
  /** The marks (`markedSource`) that ran. */
  readonly reached: readonly number[]
}

/** The exit code of a host whose tests computed too long. */
export const LIMIT_REACHED = 124

/** What a marked source calls with the index of a mutant. */
export const MARK = 'globalThis.pctodlReached'

/** What a test file's result carries. */
export interface ReachedMeta {
  reached?: readonly number[]
}

import type { PerfModel } from '@pctodl/perf-model'

/** What a form needs to know of a board. */
export interface BoardDescription {
  /** Key, or name of a parameter file. */
  readonly board: string
  readonly name: string
  readonly smCount: number
  readonly powerLimitW: { readonly min: number; readonly default: number; readonly max: number }
  /** MHz, descending. */
  readonly memClocksMhz: readonly number[]
  readonly networks: readonly string[]
}

export function describeBoard(board: string, { spec, memClocksMhz, networks }: PerfModel): BoardDescription {
  const { name, smCount, powerLimitW } = spec
  return { board, name, smCount, powerLimitW, memClocksMhz, networks }
}

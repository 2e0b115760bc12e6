import type { PartitionOptions } from '@pctodl/greedy-partition'
import type { Predictor } from '@pctodl/perf-model'
import type { ClockMechanism } from '@pctodl/thermo-dvfs'
import type { Candidate } from '../neighbourhood.js'
import type { ServedNetworks } from '../plan-partition.js'
import type { ShadowOptions } from '../shadow-optimizer.js'

export interface PctodlPolicyOptions extends ServedNetworks {
  readonly predictor: Predictor
  /** Watts to plan below the cap; the controller still holds the cap itself. Default 0. */
  readonly powerMarginW?: number
  /**
   * The board's own power limit is set this far above the cap, percent, clamped to the board's range: its firmware is the fast
   * inner loop that no burst outruns, and between two clocks it holds a mean that no locked one has. Default 0: at the cap, with the
   * clock locked to the lowest state that would exceed it. null leaves the limit alone: the clock is the only hold.
   */
  readonly hardwareLimitPercent?: number | null
  /**
   * After a cap change the clocks move at once. The tenants follow as soon as the cap has lasted as long as it takes to regain the
   * samples lost in restarts, and not at all where that takes longer than this, s. Default 300.
   */
  readonly payBackS?: number
  /** Keep looking for better tenants while running. Default false: no measurement showed a gain over the plan. */
  readonly shadow?: ShadowOptions | false
  /** Start with this instead of a plan; later cap changes move the clocks only. */
  readonly fixed?: Candidate
  /** Also where a latency objective is given: plans keep it, and where a window shows that they do not, another one is made. */
  readonly partition?: Omit<PartitionOptions, 'models' | 'powerCapW' | 'powerMarginW'>
  /** Mechanisms of the clock controller to leave out, for an ablation. Default none. */
  readonly without?: readonly ClockMechanism[]
}

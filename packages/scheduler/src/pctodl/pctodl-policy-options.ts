import type { PartitionOptions } from '@pctodl/greedy-partition'
import type { Predictor } from '@pctodl/perf-model'
import type { ClockMechanism } from '@pctodl/thermo-dvfs'
import type { Candidate } from '../neighbourhood.js'
import type { ServedNetworks } from '../plan-partition.js'
import type { ShadowOptions } from '../shadow-optimizer.js'

export interface PctodlPolicyOptions extends ServedNetworks {
  readonly predictor: Predictor
  /** Margin of plans below the cap, W; the controller holds the cap itself. Default 0. */
  readonly powerMarginW?: number
  /**
   * The board's own power limit is set this far above the cap, percent, clamped to the board's range. Its firmware is
   * the fast inner loop, which also holds mean powers between those of two clocks. Default 0: at the cap, with the
   * clock locked to the lowest state that would exceed it. null leaves the limit alone, so only the clock holds the
   * cap.
   */
  readonly hardwareLimitPercent?: number | null
  /**
   * After a cap change, clocks move at once. Tenants follow once the cap has lasted as long as it takes to regain the
   * samples lost in restarts, and never if that takes longer than this, s. Default 300.
   */
  readonly payBackS?: number
  /** Search for better tenants while running. Default false: no measurement showed a gain over the plan. */
  readonly shadow?: ShadowOptions | false
  /** Start with this instead of a plan; later cap changes move the clocks only. */
  readonly fixed?: Candidate
  /**
   * Options of the partitioner, including latency objectives. Plans meet them; if a window shows otherwise, another
   * plan is made.
   */
  readonly partition?: Omit<PartitionOptions, 'models' | 'powerCapW' | 'powerMarginW'>
  /** Mechanisms of the clock controller to switch off, for an ablation. Default none. */
  readonly without?: readonly ClockMechanism[]
}

import type { PartitionOptions } from '@pctodl/greedy-partition'
import type { Predictor } from '@pctodl/perf-model'
import type { ClockMechanism } from '@pctodl/thermo-dvfs'
import type { Candidate } from '../neighbourhood.js'
import type { ServedNetworks } from '../plan-partition.js'
import type { ShadowOptions } from '../shadow-optimizer.js'

export interface PctodlPolicyOptions extends ServedNetworks {
  readonly predictor: Predictor
  /** Margin of plans below the cap, W. Default 0, because the clock controller holds the cap. */
  readonly powerMarginW?: number
  /**
   * Sets the board's own power limit this far above the cap, percent, clamped to the board's range. The firmware then
   * acts as a fast inner loop, and can hold mean powers between those of two clock states. Default 0: the limit equals
   * the cap, and the clock is locked to the lowest state that would exceed the cap. null does not change the limit, so
   * that only the clock holds the cap.
   */
  readonly hardwareLimitPercent?: number | null
  /**
   * Maximum time in which a change of tenants must regain the samples lost in restarts, s. After a cap change, clocks
   * change at once. Tenants change only if the gain repays the restarts within the cap's expected life and within this
   * time. Default 300.
   */
  readonly payBackS?: number
  /** Search for better tenants while running. Default false, because no measurement showed a gain over the plan. */
  readonly shadow?: ShadowOptions | false
  /** Configuration to start with instead of a plan. Later cap changes then change only the clocks. */
  readonly fixed?: Candidate
  /**
   * Options of the partitioner, including latency objectives. Plans meet the objectives by prediction; if a window
   * misses one, another plan is made.
   */
  readonly partition?: Omit<PartitionOptions, 'models' | 'powerCapW' | 'powerMarginW'>
  /** Mechanisms of the clock controller to switch off, for an ablation. Default none. */
  readonly without?: readonly ClockMechanism[]
}

import type { BoostedTrees } from '../math/boosted-trees.js'
import type { Misses } from './calibration.js'
import type { FittedProcess } from './company-process.js'
import type { FittedGroupPower } from './group-power.js'

/** Everything that fitting found out: plain values, which JSON can hold (`new SlowdownModel(JSON.parse(text))`). */
export interface FittedSlowdown extends FittedProcess {
  /** Trees, each fitted without one part of the colocations; their mean has a say. */
  readonly trees: readonly BoostedTrees[]
  /** Weight of the trees against the process, from 0 to 1, by the number of members; 0 for a number that was not learnt. */
  readonly treeWeights: Readonly<Record<number, number>>
  readonly misses: readonly Misses[]
  /** Null where too few groups have a measured power. */
  readonly power: FittedGroupPower | null
}

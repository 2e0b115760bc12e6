import type { Members } from '../colocation.js'
import { type AggregateFeature, aggregateFeature } from './aggregate-features.js'

/** A way to compare colocations of one size without any training. */
export interface Rule {
  readonly name: string
  /** Higher is better. */
  score(members: Members): number
}

/**
 * The rules of the KACE study: prefer most or least of one aggregate. `sm%` prefers most, as published, although it is the
 * worst of them; summed SM throughput is stored with the published results but missing in their comparison.
 */
export const publishedRules: readonly Rule[] = [
  most('max SM throughput', 'smThroughputPercent'),
  most('max exclusive throughput', 'exclusiveThroughput'),
  least('min memcap', 'memoryGib'),
  least('min mem%', 'memUtilPercent'),
  most('max sm%', 'smUtilPercent'),
  least('min threads', 'threads'),
  least('min DRAM throughput', 'dramThroughputPercent'),
  least('min memory throughput', 'memoryThroughputPercent'),
  least('min registers', 'registers'),
  least('min static shared memory', 'staticSharedMemory'),
]

function most(name: string, feature: AggregateFeature): Rule {
  return { name, score: (members) => aggregateFeature(members, feature) }
}

function least(name: string, feature: AggregateFeature): Rule {
  return { name, score: (members) => -aggregateFeature(members, feature) }
}

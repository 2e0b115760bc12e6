import type { Members } from '../colocation.js'
import type { Workload } from '../workload.js'

/** A metric of which the published model knows an aggregate. */
export type AggregateFeature = Exclude<keyof Workload, 'name' | 'batchSize' | 'training' | 'powerW'>

/**
 * The published features of a colocation: each metric summed over the members, except the two whose published name holds
 * a percent sign, which are averaged. (The three throughputs of the kernel profiler are percentages too, but are summed.)
 */
export const aggregateFeatureNames: readonly AggregateFeature[] = [
  'threads',
  'smThroughputPercent',
  'dramThroughputPercent',
  'memoryThroughputPercent',
  'registers',
  'staticSharedMemory',
  'exclusiveThroughput',
  'smUtilPercent',
  'memUtilPercent',
  'memoryGib',
]

const averaged: readonly AggregateFeature[] = ['smUtilPercent', 'memUtilPercent']

/** One aggregate of a colocation of any size. */
export function aggregateFeature(members: Members, feature: AggregateFeature): number {
  const sum = members.reduce((total, member) => total + member[feature], 0)
  return averaged.includes(feature) ? sum / members.length : sum
}

/** All of them, in the published order. */
export function aggregateFeatures(members: Members): Float64Array {
  return Float64Array.from(aggregateFeatureNames, (feature) => aggregateFeature(members, feature))
}

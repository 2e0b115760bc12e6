import { SeededRandom } from '@pctodl/numerics'
import type { Colocation, Members, Workload } from '../src/index.js'

/** Workloads drawn at random, such that nothing of them is alike. */
export function syntheticWorkloads(count: number, seed = 1): Workload[] {
  const random = new SeededRandom(seed)
  const between = (least: number, most: number) => least + (most - least) * random.uniform()
  return Array.from({ length: count }, (_, i) => {
    const training = i % 3 === 0
    const batchSize = 2 ** (1 + (i % 4))
    return {
      name: `net${Math.floor(i / 2)}_batch${batchSize}-${training ? 'train' : 'inf'}`,
      batchSize,
      training,
      threads: Math.exp(between(10, 16)),
      smThroughputPercent: between(10, 85),
      dramThroughputPercent: between(10, 85),
      memoryThroughputPercent: between(30, 90),
      registers: Math.exp(between(14, 19)),
      staticSharedMemory: Math.exp(between(5, 11)),
      exclusiveThroughput: Math.exp(between(1, 5)),
      smUtilPercent: between(15, 99),
      memUtilPercent: between(4, 50),
      memoryGib: between(1, 12),
    }
  })
}

/** A law of interference known to the tests alone: what a member keeps falls with the load of the others. */
export function lawfulColocation(members: Members): Colocation {
  const load = members.map(({ smUtilPercent, smThroughputPercent }) => (smUtilPercent * smThroughputPercent) / 1e4)
  const pressure = members.map(({ memUtilPercent }) => memUtilPercent / 100)
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  return {
    members,
    throughputs: members.map((member, i) => {
      const otherLoad = sum(load) - load[i]!
      const otherPressure = sum(pressure) - pressure[i]!
      return member.exclusiveThroughput / (1 + 1.2 * otherLoad + 1.5 * otherPressure * pressure[i]!)
    }),
  }
}

/** All pairs, a workload with itself included. */
export function allPairs(workloads: readonly Workload[]): Workload[][] {
  return workloads.flatMap((first, i) => workloads.slice(i).map((second) => [first, second]))
}

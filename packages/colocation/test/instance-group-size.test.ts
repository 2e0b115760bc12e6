import { expect, it } from 'vitest'
import { groupsForInstance, type KeptShareSource } from '../src/index.js'
import { syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(6)
const source: KeptShareSource = { workloads, keptShares: (members) => members.map(() => 1 / members.length) }
const demands = workloads.map(({ name }) => ({ workload: name, ratePerS: 0, batchTimeMs: Number.POSITIVE_INFINITY }))

it('groups for an instance are of as many members as there may be, and of all that are fewer', () => {
  const groups = (maxMembers: number) => groupsForInstance(source, demands, { memoryGib: 1000, maxMembers })
  const all = groups(6)
  expect(all).toHaveLength(2 ** 6 - 1)
  for (let most = 1; most <= 6; most++) {
    expect(groups(most)).toEqual(all.filter((group) => group.workloads.length <= most))
  }
})

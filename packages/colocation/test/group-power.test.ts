import { describe, expect, it } from 'vitest'
import { type Members, SlowdownModel, type Workload } from '../src/index.js'
import { GroupPowerModel } from '../src/model/group-power.js'
import { exampleStudy } from './example-study.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(8).map((workload, i) => ({ ...workload, powerW: 90 + 20 * i }))
const SHARED_W = 60
const lawfulPower = (members: Members) => {
  const colocation = lawfulColocation(members)
  const powerW = members.reduce(
    (sum, member, i) => sum + (colocation.throughputs[i]! / member.exclusiveThroughput) * (member.powerW! - SHARED_W),
    SHARED_W,
  )
  return { ...colocation, powerW }
}

describe('the power of groups', () => {
  const groups = allPairs(workloads).map(lawfulPower)

  it('finds what members share, and expects no more than was ever measured', () => {
    const model = GroupPowerModel.fit(groups)!
    expect(model.fitted.sharedW).toBeCloseTo(SHARED_W, 6)
    expect(model.fitted.mapePercent).toBeLessThan(1e-6)
    expect(model.of([workloads[0]!], [1])).toBeCloseTo(90, 6)
    const four = workloads.slice(4)
    expect(model.of(four, [1, 1, 1, 1])).toBe(model.fitted.maxW)
  })

  it('is within 2 % on groups of the example study that it has not learnt from, with measured shares', () => {
    const { pairs, triples, quadruples } = exampleStudy()
    const model = GroupPowerModel.fit(pairs)!
    for (const { members, throughputs, powerW } of [...triples, ...quadruples]) {
      const kept = throughputs.map((throughput, i) => throughput / members[i]!.exclusiveThroughput)
      expect(Math.abs(model.of(members, kept) / powerW! - 1)).toBeLessThan(0.06)
    }
    expect(model.fitted.mapePercent).toBeLessThan(2)
  })

  it('is near what was measured of one to five processes on a V100', () => {
    // VGG-19 x 32 at a fifth of the board each, W (i-Gniter, github.com/icloud-ecnu/igniter: recordpower.sh; idle 53.5 W, limit 300 W).
    const measuredW = [117.56, 184.89, 258.89]
    const vgg: Workload = { ...workloads[0]!, powerW: measuredW[0]! }
    const model = new GroupPowerModel({ sharedW: 53.5, maxW: 296, mapePercent: 0, groups: 0 })
    measuredW.forEach((powerW, i) => {
      const members = Array.from({ length: i + 1 }, () => vgg)
      expect(
        Math.abs(
          model.of(
            members,
            members.map(() => 1),
          ) /
            powerW -
            1,
        ),
      ).toBeLessThan(0.055)
    })
    // With four and five the limit holds: 295 to 296 W.
    expect(model.of([vgg, vgg, vgg, vgg], [1, 1, 1, 1])).toBe(296)
  })

  it('comes with predictions, or is null where nobody measured it', () => {
    const model = SlowdownModel.fit(groups)
    const asked = groups[5]!
    expect(Math.abs(model.predict(asked.members).powerW! / asked.powerW - 1)).toBeLessThan(0.03)
    const { powerW: _, ...unpowered } = workloads[2]!
    expect(model.predict([unpowered, workloads[1]!]).powerW).toBeNull()
    const without = SlowdownModel.fit(groups.map(({ members, throughputs }) => ({ members, throughputs })))
    expect(without.power).toBeNull()
    expect(without.predict(asked.members).powerW).toBeNull()
  })

  it('needs five groups, and refuses members without power and powers that cannot be', () => {
    expect(GroupPowerModel.fit(groups.slice(0, 4))).toBeNull()
    const { powerW: _, ...unpowered } = workloads[2]!
    expect(() => GroupPowerModel.fit(groups)!.of([unpowered], [1])).toThrow('its power alone')
    expect(() => SlowdownModel.fit([...groups, { ...groups[0]!, powerW: -1 }])).toThrow('watts above 0')
  })
})

import { loadPerfModel } from '@pctodl/perf-model'
import type { Service } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import type { Instances, Layout } from '../src/services/layout.js'
import { layoutsAround } from '../src/services/layout-moves.js'
import { planProblem } from '../src/services/plan-problem.js'

const model = loadPerfModel('A100')
const service: Service = {
  name: 'a',
  model: 'resnet50',
  objective: { p99Ms: 40 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 0,
}
const problem = planProblem(model, [service, { ...service, name: 'b' }], [1, 1], {
  powerCapW: 200,
  objective: 'min-power',
  sharePercentStep: 5,
  batchSizes: [1, 4, 16],
  maxInstances: 4,
})

/** What one change makes of the first service, of which there is `first`, while the second stays as it is. */
function ofFirst(first: Instances, second: Instances): Instances[] {
  return layoutsAround(problem, { services: [first, second], memIndex: 0 })
    .filter(({ services, memIndex }) => services[1] === second && services[0] !== first && memIndex === 0)
    .map(({ services }) => services[0]!)
}

describe('what one change makes of a layout', () => {
  it('is a share larger or smaller by 1, 2, 4 or 8 units, or larger by all that is free', () => {
    const shares = ofFirst({ count: 1, units: 9, batch: 1 }, { count: 1, units: 1, batch: 0 })
      .filter(({ count, batch }) => count === 1 && batch === 1)
      .map(({ units }) => units)
    expect([...new Set(shares)].sort((a, b) => a - b)).toEqual([1, 5, 7, 8, 10, 11, 13, 17, 19])
  })

  it('gives each process of a service the same share of what is free', () => {
    const shares = ofFirst({ count: 2, units: 2, batch: 0 }, { count: 1, units: 9, batch: 0 })
      .filter(({ count, batch }) => count === 2 && batch === 0)
      .map(({ units }) => units)
    expect([...new Set(shares)].sort()).toEqual([1, 3, 4, 5])
  })

  it('is another batch, or the share in more or fewer processes with a batch next to the one at hand', () => {
    const others = ofFirst({ count: 2, units: 4, batch: 1 }, { count: 1, units: 12, batch: 0 })
    const of = (count: number) =>
      others.filter((each) => each.count === count).map(({ units, batch }) => `${units}:${batch}`)
    expect(of(1).sort()).toEqual(['4:1', '8:0', '8:1', '8:2'])
    expect(
      of(2)
        .filter((each) => each.startsWith('4'))
        .sort(),
    ).toEqual(['4:0', '4:2'])
    expect(of(3).sort()).toEqual(['2:0', '2:1', '2:2'])
    expect(of(4).sort()).toEqual(['2:0', '2:1', '2:2'])
  })

  it('takes a process more where its share is free, and what others free with it', () => {
    const others = ofFirst({ count: 1, units: 5, batch: 0 }, { count: 1, units: 10, batch: 0 })
    expect(others).toContainEqual({ count: 2, units: 5, batch: 0 })
    // Five units split into two processes give two units each; with one free unit, three each.
    expect(others).toContainEqual({ count: 2, units: 3, batch: 0 })
    const full = ofFirst({ count: 1, units: 5, batch: 0 }, { count: 1, units: 15, batch: 0 })
    expect(full).not.toContainEqual({ count: 2, units: 5, batch: 0 })
  })

  it('hands share from one service to another, so much of each process as the other takes', () => {
    const around = layoutsAround(problem, {
      services: [
        { count: 1, units: 12, batch: 1 },
        { count: 4, units: 2, batch: 1 },
      ],
      memIndex: 0,
    })
    const given = around.filter(({ services: [a, b] }) => a!.units < 12 && b!.units > 2 && b!.count === 4)
    const said = given.map(({ services: [a, b] }) => `${a!.units}:${a!.batch} ${b!.units}:${b!.batch}`)
    expect(said.sort()).toEqual(['4:0 4:1', '4:1 4:1', '4:1 4:2', '8:0 3:1', '8:1 3:1', '8:1 3:2'])
  })

  it('is the whole board for a service alone', () => {
    const alone = planProblem(model, [service], [1], { powerCapW: 200, objective: 'min-power', batchSizes: [1] })
    const around = layoutsAround(alone, { services: [{ count: 1, units: 16, batch: 0 }], memIndex: 0 })
    const wholes = around.filter(({ services: [of] }) => of!.count === 1).map(({ services: [of] }) => of!.units)
    expect([...new Set(wholes)].sort((a, b) => a - b)).toEqual([8, 12, 14, 15, 17, 18, 20])
  })

  it('is the same in the other memory state', () => {
    const layout: Layout = {
      services: [
        { count: 1, units: 9, batch: 1 },
        { count: 1, units: 1, batch: 0 },
      ],
      memIndex: 0,
    }
    const others = layoutsAround(problem, layout).filter(({ memIndex }) => memIndex !== 0)
    expect(others).toHaveLength(problem.memClocksMhz.length - 1)
  })
})

import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { CORRECTION_NODES, correctionGrid, HOST_NODES } from '../src/correction-grid.js'
import { correctionNodesOf, hostNodesOf } from '../src/corrections.js'
import { gridPrecision, krige } from '../src/fit/kriging.js'

const { mpsPercent, batchSize, tenants } = correctionGrid
const SIZE = CORRECTION_NODES + HOST_NODES
const node = (share: number, batch: number, count: number) =>
  (mpsPercent.indexOf(share as never) * batchSize.length + batchSize.indexOf(batch as never)) * tenants.length +
  tenants.indexOf(count as never)
const one = (index: number, value: number, weight = 1) => ({ nodes: [{ index, weight: 1 }], value, weight })
const krigeOne = (observations: Parameters<typeof krige>[2]) => krige(gridPrecision(1), SIZE, observations)

describe('krige', () => {
  it('believes a row by its weight, and is surest where rows are', () => {
    const at = node(40, 8, 2)
    const light = krigeOne([one(at, 0.1, 1)])
    const heavy = krigeOne([one(at, 0.1, 100)])
    // Prior variance 2 (level and smooth part), noise 0.2 per row.
    expect(light.values[at]).toBeCloseTo((0.1 * 2) / (2 + 0.2), 3)
    expect(heavy.values[at]).toBeCloseTo((0.1 * 2) / (2 + 0.002), 3)
    const far = node(2, 256, 20)
    expect(light.variances[at]!).toBeLessThan(0.2 * light.variances[far]!)
    expect(heavy.variances[at]! / heavy.variances[far]!).toBeLessThan(light.variances[at]! / light.variances[far]!)
  })

  it('fades over 0.7 in the logarithm of share, batch and number of tenants, down to the level that all have in common', () => {
    const at = node(40, 8, 2)
    const { values } = krigeOne([one(at, 0.1)])
    const seen = values[at]!
    const fades = (from: number, to: number) => Math.exp(-0.5 * (Math.log(to / from) / 0.7) ** 2)
    const expected = (rest: number) => (seen * (1 + rest)) / 2
    expect(values[node(20, 8, 2)]).toBeCloseTo(expected(fades(40, 20)), 4)
    expect(values[node(40, 16, 2)]).toBeCloseTo(expected(fades(8, 16)), 4)
    expect(values[node(40, 8, 4)]).toBeCloseTo(expected(fades(2, 4)), 4)
    expect(values[node(2, 256, 20)]).toBeCloseTo(expected(0), 4)
  })

  it('tells device and host apart by how much either decides, and finds smooth laws in noisy rows', () => {
    const random = new SeededRandom(5)
    const device = (share: number, batch: number) => 0.1 * Math.sin(Math.log(share)) + 0.02 * Math.log(batch)
    const host = (count: number) => -0.03 * Math.log(count)
    const rows = Array.from({ length: 800 }, () => {
      const share = 2 + random.integer(99)
      const batch = 1 + random.integer(256)
      const count = 1 + random.integer(20)
      const part = random.uniform()
      const nodes = [
        ...correctionNodesOf(share, batch, count).map((entry) => ({ ...entry, weight: part * entry.weight })),
        ...hostNodesOf(batch, count).map(({ index, weight }) => ({
          index: CORRECTION_NODES + index,
          weight: (1 - part) * weight,
        })),
      ]
      return {
        nodes,
        value: part * device(share, batch) + (1 - part) * host(count) + 0.01 * random.normal(),
        weight: 1,
      }
    })
    const { values, variances } = krigeOne(rows)
    for (const [share, batch, count] of [
      [10, 32, 2],
      [40, 64, 4],
      [20, 128, 8],
    ] as const) {
      expect(values[node(share, batch, count)]).toBeCloseTo(device(share, batch), 1)
      const at = CORRECTION_NODES + batchSize.indexOf(batch) * tenants.length + tenants.indexOf(count)
      expect(Math.abs(values[at]! - host(count))).toBeLessThan(0.03)
      expect(Math.sqrt(variances[at]!)).toBeLessThan(0.05)
    }
  })
})

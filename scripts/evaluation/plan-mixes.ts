import { SeededRandom, seedFrom } from '@pctodl/numerics'
import type { PerfModel } from '@pctodl/perf-model'
import { type Configuration, smClocksAt, type Tenant } from '@pctodl/platform'
import { fits } from './prediction-errors.js'

/**
 * Kinds of configurations that plans have: many equal tenants on a full board, few of them, or a large tenant beside
 * small ones.
 */
export type PlanMix = 'many' | 'few' | 'large beside small'

export const planMixes: readonly PlanMix[] = ['many', 'few', 'large beside small']

const batches = [2, 4, 8, 16, 32, 64, 96, 128, 192, 256]

/** Draws configurations of these kinds that fit the board's memory, at the upper clocks, with a seed. */
export function planLike(
  model: PerfModel,
  count: number,
  seed: number | string,
  mixes: readonly PlanMix[] = planMixes,
): Configuration[] {
  const { spec, networks, memClocksMhz } = model
  const random = new SeededRandom(seedFrom('plans', spec.key, seed))
  const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)]!
  const found: Configuration[] = []
  while (found.length < count) {
    const memClockMhz = pick(random.uniform() < 0.7 ? spec.performanceMemClocksMhz : memClocksMhz)
    const clocks = smClocksAt(spec, memClockMhz)!
    const smClockMhz = clocks[Math.floor(clocks.length * (0.15 + 0.85 * random.uniform()))]!
    const first = pick(networks)
    const second = random.uniform() < 0.7 ? first : pick(networks)
    const mix = pick(mixes)
    const tenants = mix === 'large beside small' ? largeBesideSmall(first, second) : likeTenants(mix, first, second)
    const configuration = { tenants, smClockMhz, memClockMhz }
    if (fits(model, configuration)) found.push(configuration)
  }
  return found

  function largeBesideSmall(large: string, small: string): Tenant[] {
    const count = 1 + random.integer(4)
    const each = random.uniform() < 0.5 ? 1 + random.integer(3) : 5 * (1 + random.integer(3))
    const mpsPercent = Math.floor((100 - count * each) * (0.6 + 0.4 * random.uniform()))
    return [
      { model: large, mpsPercent, batchSize: pick(batches) },
      ...Array.from({ length: count }, () => ({ model: small, mpsPercent: each, batchSize: pick(batches) })),
    ]
  }

  function likeTenants(mix: PlanMix, one: string, other: string): Tenant[] {
    const size = mix === 'many' ? 8 + random.integer(13) : 1 + random.integer(7)
    const mpsPercent = Math.floor(100 / size)
    const batchSize = pick(batches)
    const otherBatch = random.uniform() < 0.6 ? batchSize : pick(batches)
    return Array.from({ length: size }, (_, i) => {
      const extra = i < 100 - mpsPercent * size && random.uniform() < 0.5 ? 1 : 0
      const isOther = i % 3 === 2
      return {
        model: isOther ? other : one,
        mpsPercent: mpsPercent + extra,
        batchSize: isOther ? otherBatch : batchSize,
      }
    })
  }
}

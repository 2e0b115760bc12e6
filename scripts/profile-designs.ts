import { SeededRandom } from '@pctodl/numerics'
import { type GpuSpec, networkNames, smClocksAt, type Tenant } from '@pctodl/platform'

/** A configuration to measure. */
export interface DesignPoint {
  readonly tenants: readonly Tenant[]
  readonly smClockMhz: number
  readonly memClockMhz: number
}

const MAX_TENANTS = 20

/** Batch sizes that plans use, and the small sizes that services run. */
const batchLadder = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256]

/** Networks that share a board, and their number of rows in the design. */
interface Population {
  readonly models: readonly string[]
  readonly rows: number
}

/**
 * Configurations with which a board is profiled: random mixes from everything that can be planned. Random rows carry
 * more information than a grid of the same size, because no two of them share a coordinate. In half of a network's
 * rows, all tenants are equal; such rows say most about one kind of tenant. The other rows are full boards of different
 * tenants, as in plans. A quarter of the rows has nine tenants or more, a sixth runs in the lowest tenth of the clocks,
 * and a sixth has only small batches. Without these corner cases, the model would have to extrapolate.
 */
export function profileDesign(spec: GpuSpec, seed: number): DesignPoint[] {
  const memClocks = spec.performanceMemClocksMhz
  const populations: Population[] = [
    ...networkNames.map((model) => ({ models: [model], rows: 100 })),
    { models: networkNames, rows: 200 },
  ]
  const random = new SeededRandom(seed)
  return memClocks.flatMap((memClockMhz) =>
    populations.flatMap(({ models, rows }) =>
      Array.from({ length: rows }, () => {
        const tenants =
          random.uniform() < (models.length > 1 ? 0 : 0.5) ? likeTenants(random, models) : mix(random, models)
        return { tenants, smClockMhz: clock(random, spec, memClockMhz), memClockMhz }
      }),
    ),
  )
}

function clock(random: SeededRandom, spec: GpuSpec, memClockMhz: number): number {
  const states = smClocksAt(spec, memClockMhz)!
  const lowest = Math.ceil(states.length / 10)
  return states[random.uniform() < 1 / 6 ? random.integer(lowest) : random.integer(states.length)]!
}

/** Number of tenants, from 1 to 20; small numbers are more frequent. If `least` is 1, a sixth of the results is 1. */
function tenantCount(random: SeededRandom, least: number): number {
  if (least === 1 && random.uniform() < 1 / 6) return 1
  return random.uniform() < 0.25 ? 9 + random.integer(MAX_TENANTS - 8) : least + random.integer(9 - least)
}

function batch(random: SeededRandom, smallOnly: boolean, mpsPercent: number): number {
  if (smallOnly) return 1 + random.integer(2)
  // Mostly batch sizes that plans use, sometimes larger ones.
  const largest = random.uniform() < 0.85 ? 6.4 * mpsPercent + 8 : 256
  const sizes = batchLadder.filter((size) => size <= largest)
  return sizes[random.integer(sizes.length)]!
}

function likeTenants(random: SeededRandom, models: readonly string[]): Tenant[] {
  const count = tenantCount(random, 1)
  const most = Math.floor(100 / count)
  const mpsPercent = random.uniform() < 0.4 ? most : 1 + random.integer(most)
  const batchSize = batch(random, random.uniform() < 1 / 6, mpsPercent)
  const model = models[random.integer(models.length)]!
  return Array.from({ length: count }, () => ({ model, mpsPercent, batchSize }))
}

function mix(random: SeededRandom, models: readonly string[]): Tenant[] {
  const count = tenantCount(random, 2)
  const smallOnly = random.uniform() < 1 / 6
  const total = random.uniform() < 0.6 ? 100 : count + random.integer(101 - count)
  const parts = Array.from({ length: count }, () => 0.1 + random.uniform())
  const sum = parts.reduce((all, part) => all + part, 0)
  // Shares are whole percents of at least 1; the rest from rounding stays free.
  return parts.map((part) => {
    const mpsPercent = 1 + Math.floor(((total - count) * part) / sum)
    return {
      model: models[random.integer(models.length)]!,
      mpsPercent,
      batchSize: batch(random, smallOnly, mpsPercent),
    }
  })
}

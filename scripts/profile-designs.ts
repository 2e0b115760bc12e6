import { SeededRandom } from '@pctodl/numerics'
import { type GpuSpec, networkNames, smClocksAt, type Tenant } from '@pctodl/platform'

/** A configuration to measure. */
export interface DesignPoint {
  readonly tenants: readonly Tenant[]
  readonly smClockMhz: number
  readonly memClockMhz: number
}

const MAX_TENANTS = 20

/** Batch sizes that plans are made of, and the small ones that services run. */
const batchLadder = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256]

/** Networks that share the board, and how many rows of the design are theirs. */
interface Population {
  readonly models: readonly string[]
  readonly rows: number
}

/**
 * Everything a board is profiled with: random mixes from the whole of what can be planned. Rows drawn at random say more than as
 * many on a grid, because no two of them agree in any coordinate. Half of a network's rows have all its tenants alike (there a
 * row says most of one kind), the others are full boards of unlike tenants, as plans are; a quarter has nine tenants or more, a
 * sixth runs within the lowest tenth of the clocks, and a sixth has small batches only: the corners where an interpolation
 * would have to be an extrapolation.
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

/** From 1 to 20, few more often than many; of like tenants a sixth is one alone. */
function tenantCount(random: SeededRandom, least: number): number {
  if (least === 1 && random.uniform() < 1 / 6) return 1
  return random.uniform() < 0.25 ? 9 + random.integer(MAX_TENANTS - 8) : least + random.integer(9 - least)
}

function batch(random: SeededRandom, smallOnly: boolean, mpsPercent: number): number {
  if (smallOnly) return 1 + random.integer(2)
  // What plans are made of, and now and then what they are not.
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
  // Whole percents, one at least each; what rounding leaves stays free.
  return parts.map((part) => {
    const mpsPercent = 1 + Math.floor(((total - count) * part) / sum)
    return {
      model: models[random.integer(models.length)]!,
      mpsPercent,
      batchSize: batch(random, smallOnly, mpsPercent),
    }
  })
}

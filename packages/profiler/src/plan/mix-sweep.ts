import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { type GpuSpec, InvalidInputError, MAX_MPS_CLIENTS, type Tenant } from '@pctodl/platform'
import { statesAt } from './clock-range.js'
import type { PlannedRow } from './profile-plan.js'

export interface MixOptions {
  /** How many mixes. */
  readonly count: number
  readonly seed: number
  /** Minimum number of tenants per mix. Default 1. */
  readonly minTenants?: 1 | 2
  /** Maximum number of tenants per mix, at least 2. Default 20. */
  readonly maxTenants?: number
}

/** Share of the mixes whose tenants run different networks. */
const SEVERAL_NETWORKS = 2 / 9
/** Up to this number of tenants is usual. A quarter of the mixes has more. */
const USUAL_TENANTS = 8
/** Batch sizes that plans use, and the small sizes that services run. */
const batchLadder = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256]

/**
 * Draws random mixes of tenants from everything that can be planned. Random rows carry more information than a grid of
 * the same size, because no two of them share a coordinate. In most mixes all tenants run one network. In half of
 * these, all tenants are equal; such rows say most about one kind of tenant. The other mixes are full boards of
 * different tenants, as in plans. A quarter of the mixes has nine tenants or more, a sixth runs in the lowest tenth of
 * the clocks, and a sixth has only small batches. Without these corner cases, a model would have to extrapolate.
 *
 * @throws InvalidInputError for a memory clock that the board does not have, or options out of range
 */
export function mixSweep(
  spec: GpuSpec,
  models: readonly string[],
  memClockMhz: number | null,
  { count, seed, minTenants = 1, maxTenants = 20 }: MixOptions,
): PlannedRow[] {
  if (!Number.isInteger(maxTenants) || maxTenants < 2 || maxTenants > MAX_MPS_CLIENTS) {
    throw new InvalidInputError('maxTenants', maxTenants, `an integer of 2 to ${MAX_MPS_CLIENTS}`)
  }
  const states = statesAt(spec, memClockMhz)
  const random = new SeededRandom(seedFrom('mixes', spec.key, seed, ...models))
  const oneIn = (n: number) => random.uniform() < 1 / n
  const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)]!
  const usual = Math.min(USUAL_TENANTS, maxTenants)
  const tenantCount = (least: number) =>
    maxTenants > usual && oneIn(4)
      ? usual + 1 + random.integer(maxTenants - usual)
      : least + random.integer(usual + 1 - least)
  const batchOf = (isSmall: boolean, mpsPercent: number) => {
    if (isSmall) return 1 + random.integer(2)
    // Mostly batch sizes that plans use, sometimes larger ones.
    const largest = random.uniform() < 0.85 ? 6.4 * mpsPercent + 8 : 256
    return pick(batchLadder.filter((size) => size <= largest))
  }
  const equalTenants = (model: string): Tenant[] => {
    const size = minTenants === 1 && oneIn(6) ? 1 : tenantCount(minTenants)
    const largest = Math.floor(100 / size)
    const mpsPercent = random.uniform() < 0.4 ? largest : 1 + random.integer(largest)
    const tenant = { model, mpsPercent, batchSize: batchOf(oneIn(6), mpsPercent) }
    return Array.from({ length: size }, () => tenant)
  }
  const differentTenants = (own: readonly string[]): Tenant[] => {
    const size = tenantCount(2)
    const isSmall = oneIn(6)
    const total = random.uniform() < 0.6 ? 100 : size + random.integer(101 - size)
    const parts = Array.from({ length: size }, () => 0.1 + random.uniform())
    const sum = parts.reduce((all, part) => all + part, 0)
    // Shares are whole percents of at least 1; the rest from rounding stays free.
    return parts.map((part) => {
      const mpsPercent = 1 + Math.floor(((total - size) * part) / sum)
      return { model: pick(own), mpsPercent, batchSize: batchOf(isSmall, mpsPercent) }
    })
  }
  return Array.from({ length: count }, () => {
    const own = random.uniform() < SEVERAL_NETWORKS ? models : [pick(models)]
    const tenants = own.length === 1 && oneIn(2) ? equalTenants(own[0]!) : differentTenants(own)
    const smClockMhz = states[random.integer(oneIn(6) ? Math.ceil(states.length / 10) : states.length)]!
    return { sweep: 'mixes' as const, tenants, smClockMhz, memClockMhz, repeat: 0 }
  })
}

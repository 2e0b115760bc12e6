import { SeededRandom, seedFrom, shuffled } from '@pctodl/numerics'
import { type GpuSpec, InvalidInputError, type Tenant } from '@pctodl/platform'
import { statesAt } from './clock-sweep.js'
import type { PlannedRow } from './profile-plan.js'

export interface MixOptions {
  /** How many mixes. */
  readonly count: number
  readonly seed: number
  /** Maximum number of tenants per mix, 2 to 20. Default 8. */
  readonly maxTenants?: number
}

const SHARE_STEP = 5
const batchLadder = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256]

/**
 * Returns mixes of different tenants that cover the space of configurations evenly, as a Latin hypercube (McKay,
 * Beckman and Conover, 1979). Its axes are the number of tenants, the sum of their shares, the SM clock, and for each
 * tenant its part of that sum, its batch size and its network. Each axis is cut into as many intervals as there are
 * mixes, and each interval occurs once.
 *
 * @throws InvalidInputError for a memory clock that the board does not have, or options out of range
 */
export function mixSweep(
  spec: GpuSpec,
  models: readonly string[],
  memClockMhz: number | null,
  { count, seed, maxTenants = 8 }: MixOptions,
): PlannedRow[] {
  if (!Number.isInteger(maxTenants) || maxTenants < 2 || maxTenants > 20) {
    throw new InvalidInputError('maxTenants', maxTenants, 'an integer of 2 to 20')
  }
  const states = statesAt(spec, memClockMhz)
  const random = new SeededRandom(seedFrom('mixes', spec.key, seed, ...models))
  const axes = Array.from({ length: 3 + 3 * maxTenants }, () => strata(count, random))
  return Array.from({ length: count }, (_, i) => {
    const at = (axis: number) => axes[axis]![i]!
    const tenantCount = 2 + Math.floor(at(0) * (maxTenants - 1))
    const total = tenantCount + Math.floor(at(1) * (100 / SHARE_STEP - tenantCount + 1))
    const parts = Array.from({ length: tenantCount }, (_, t) => -Math.log(1 - at(3 + t)))
    const tenants = sharesOf(parts, total).map((steps, t): Tenant => {
      const mpsPercent = steps * SHARE_STEP
      const batches = batchLadder.filter((batch) => batch <= 8 * mpsPercent + 8)
      return {
        model: models[Math.floor(at(3 + maxTenants + t) * models.length)]!,
        mpsPercent,
        batchSize: batches[Math.floor(at(3 + 2 * maxTenants + t) * batches.length)]!,
      }
    })
    return {
      sweep: 'mixes' as const,
      tenants,
      smClockMhz: states[Math.floor(at(2) * states.length)]!,
      memClockMhz,
      repeat: 0,
    }
  })
}

/**
 * Distributes `total` steps of share in proportion to `parts`, at least one step each. Rounding uses the largest
 * remainders.
 */
function sharesOf(parts: readonly number[], total: number): number[] {
  const sum = parts.reduce((a, b) => a + b, 0)
  const free = total - parts.length
  const exact = parts.map((part) => (sum > 0 ? (part / sum) * free : free / parts.length))
  const shares = exact.map((value) => 1 + Math.floor(value))
  const byRemainder = exact.map((value, i) => ({ i, rest: value - Math.floor(value) })).sort((a, b) => b.rest - a.rest)
  const left = total - shares.reduce((a, b) => a + b, 0)
  for (const { i } of byRemainder.slice(0, left)) shares[i]!++
  return shares
}

/** Draws one value in each of `count` equal intervals of [0, 1), in random order. */
function strata(count: number, random: SeededRandom): number[] {
  const values = Array.from({ length: count }, (_, i) => (i + random.uniform()) / count)
  return shuffled(values, random)
}

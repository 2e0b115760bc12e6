import { SeededRandom, seedFrom, shuffled } from '@pctodl/numerics'
import { type GpuSpec, networkNames, type Tenant } from '@pctodl/platform'
import { mixSweep } from '../plan/mix-sweep.js'
import { defaultMeasure, type PlannedRow, type ProfilePlan, type SweepName } from '../plan/profile-plan.js'
import { probes, TRANSFORMER } from './probe-networks.js'

const networks: readonly string[] = [...networkNames, TRANSFORMER]
/**
 * Number of random mixes of networks and shares for fitting, and again for testing. Each is measured with two sets of
 * batch sizes, because starting processes takes long.
 */
const LAYOUTS = 30
const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128]
/** Shares of the pairs: the first nine fill the board. */
const pairShares: readonly (readonly [number, number])[] = [
  ...[10, 20, 30, 40, 50, 60, 70, 80, 90].map((share) => [share, 100 - share] as const),
  [10, 10],
  [25, 25],
  [50, 30],
]

export interface ProvePlanOptions {
  readonly seed: number
  /** Whether clocks may be locked. If so, half of the mixes run at locked SM clocks. */
  readonly allowSettings: boolean
}

/**
 * Returns the rows of a proof. Their order allows an evaluation even if the run ends early. First come the idle board,
 * the microbenchmarks and each network alone. Then mixes for fitting, mixes for testing, and pairs take turns.
 */
export function provePlan(spec: GpuSpec, { seed, allowSettings }: ProvePlanOptions): ProfilePlan {
  const random = new SeededRandom(seedFrom('prove', spec.key, seed))
  const row = (sweep: SweepName, tenants: readonly Tenant[], smClockMhz: number | null = null): PlannedRow => ({
    sweep,
    tenants,
    smClockMhz,
    memClockMhz: null,
    repeat: 0,
  })
  const rows = [
    row('static', []),
    ...probes.map(({ name, batchSize }) => row('micro', [{ model: name, mpsPercent: 100, batchSize }])),
    ...networks.map((model) => row('single', [{ model, mpsPercent: 100, batchSize: 32 }])),
  ]
  const pairs = pairShares.map((shares, i) => {
    const [a, b] = shuffled(networks, random).slice(0, 2)
    const tenants = [a!, b!].map(
      (model, t): Tenant => ({
        model,
        mpsPercent: shares[t]!,
        batchSize: batchSizes[(i + random.integer(4) + 4 * t) % batchSizes.length]!,
      }),
    )
    // Each tenant alone and both together, in an order in which each process starts only once.
    return [[tenants[0]!], tenants, [tenants[1]!]].map((each) => row('pairs', each))
  })
  const mixes = (sweep: 'mixes' | 'test') =>
    mixSweep(spec, networks, null, { count: LAYOUTS, seed: seedFrom(sweep, seed), minTenants: 2, maxTenants: 4 }).map(
      (mix) => {
        const redrawn = mix.tenants.map((tenant) => ({ ...tenant, batchSize: batchSizes[random.integer(8)]! }))
        const first = mix.tenants.map((tenant) => ({ ...tenant, batchSize: Math.min(128, tenant.batchSize) }))
        return [row(sweep, first), row(sweep, redrawn, allowSettings ? mix.smClockMhz : null)]
      },
    )
  const toFit = mixes('mixes')
  const toTest = mixes('test')
  for (let i = 0; i < LAYOUTS; i++) rows.push(...toFit[i]!, ...toTest[i]!, ...(pairs[i] ?? []))
  return {
    version: 1,
    board: spec.key,
    seed,
    measure: {
      ...defaultMeasure,
      settleWindowMs: 1500,
      settleMinMs: 1500,
      settleMaxMs: 4000,
      windowMinMs: 3000,
      windowMaxMs: 3000,
    },
    rows,
  }
}

import { InvalidInputError, type Tenant } from '@pctodl/platform'
import { AskedModel, type PublishedModel, type PublishedState, type PublishedTenants } from './published-model.js'
import type { PublishedChoice } from './published-round.js'
import { shareAxis } from './search-axes.js'
import { solveClock } from './solve-clock.js'
import { findBestNextStandard } from './standard-find-best-next.js'
import { findBestNextVectorized } from './vectorized-find-best-next.js'

export interface PublishedSearchOptions {
  readonly model: string
  /** Power cap, W. */
  readonly powerCapW: number
  /** Step between the shares to try, percent. Default 5. */
  readonly sharePercentStep?: number
  /**
   * The board's clock table, MHz, ascending. The search starts at the highest clock and rounds most results down to a
   * clock of the table.
   */
  readonly smClocksMhz: readonly number[]
  /** Memory clocks to search, MHz. The Python code uses 9501 and 5001 on the 3080 Ti, and 1215 on the A100. */
  readonly memClocksMhz: readonly number[]
  readonly maxTenants?: number
  readonly maxSharePercent?: number
  /**
   * Maximum sum of the tenants' batch sizes. Each batch size is limited to this number divided by the number of
   * tenants.
   */
  readonly maxTotalBatch?: number
  /** Which of the two published versions of the search to run; they differ in details. Default `standard`. */
  readonly variant?: 'standard' | 'vectorized'
}

/** The search's state directly after it admitted a tenant. */
export interface PublishedStep extends PublishedState {
  readonly admitted: Tenant
  readonly throughput: number
  readonly powerW: number
}

export interface PublishedSearchResult extends PublishedState {
  /** Tenants in the order of admission; empty if the published search finds none, which it counts as a success. */
  readonly tenants: readonly Tenant[]
  /** The model's prediction for the tenants at the resulting clocks; null if there are no tenants. */
  readonly prediction: ReturnType<PublishedModel['predictAll']> | null
  /** Whether predicted power exceeds the cap. The published search does not check this. */
  readonly overCap: boolean
  /** The number that the published program prints as "configs searched". */
  readonly configsSearched: number
  readonly steps: readonly PublishedStep[]
}

/**
 * The published search with each of its decisions and defects, for comparison and parity. It adds the tenant with the
 * largest gain per percent of share, and finds the SM clock by bisection to 1 W. It never raises the memory clock, and
 * it distributes the remaining share without checking the cap. For plans to use, call `partition`.
 *
 * @param modelAt returns the predictor of a memory clock; called once per clock
 * @throws InvalidInputError
 */
export function publishedSearch(
  modelAt: (memClockMhz: number) => PublishedModel,
  options: PublishedSearchOptions,
): PublishedSearchResult {
  const { powerCapW, sharePercentStep: step = 5, maxTenants = Infinity, maxSharePercent = Infinity } = options
  if (!(powerCapW > 0)) throw new InvalidInputError('powerCapW', powerCapW, 'a positive number of watts')
  if (!(Number.isInteger(step) && step >= 1 && step <= 100)) {
    throw new InvalidInputError('sharePercentStep', step, 'an integer from 1 to 100')
  }
  if (options.smClocksMhz.length === 0) throw new InvalidInputError('smClocksMhz', [], 'the clocks of a board')
  if (options.memClocksMhz.length === 0) throw new InvalidInputError('memClocksMhz', [], 'at least one memory clock')

  const space = {
    model: options.model,
    powerCapW,
    shares: shareAxis(step, maxSharePercent),
    smClocksMhz: options.smClocksMhz,
    memClocksMhz: [...options.memClocksMhz].sort((a, b) => b - a),
    maxTotalBatch: options.maxTotalBatch,
  }
  const asked = new AskedModel(modelAt)
  const findBestNext = options.variant === 'vectorized' ? findBestNextVectorized : findBestNextStandard

  let tenants: PublishedTenants = { shares: [], batches: [] }
  let state: PublishedState = { smClockMhz: space.smClocksMhz.at(-1)!, memClockMhz: space.memClocksMhz[0]! }
  let free = 100
  let configsSearched = 0
  const steps: PublishedStep[] = []
  while (free >= step && tenants.shares.length < maxTenants) {
    const { choice, searched } = findBestNext(asked, space, tenants, free, state)
    configsSearched += searched
    if (choice === undefined) break
    tenants = choice.tenants
    state = { smClockMhz: choice.smClockMhz, memClockMhz: choice.memClockMhz }
    free -= tenants.shares.at(-1)!
    steps.push(stepOf(asked, options.model, choice))
  }
  if (free > 1e-5 && tenants.shares.length > 0) {
    tenants = dealOut(tenants, free, step, maxSharePercent)
    state = retune(asked, space, tenants, state)
  }

  const prediction = tenants.shares.length === 0 ? null : asked.predict(tenants, state.smClockMhz, state.memClockMhz)
  return {
    tenants: tenants.shares.map((mpsPercent, i) => ({
      model: options.model,
      mpsPercent,
      batchSize: tenants.batches[i]!,
    })),
    ...state,
    prediction,
    overCap: prediction !== null && prediction.powerW > powerCapW,
    configsSearched,
    steps,
  }
}

/**
 * Distributes the remaining share among the tenants in turn, one step at a time. A step that would exceed a tenant's
 * maximum share is lost.
 */
function dealOut(tenants: PublishedTenants, free: number, step: number, maxShare: number): PublishedTenants {
  const shares = [...tenants.shares]
  for (let chunk = 0; chunk < Math.floor(free / step); chunk++) {
    const i = chunk % shares.length
    if (shares[i]! + step <= maxShare + 1e-6) shares[i]! += step
  }
  return { shares, batches: tenants.batches }
}

/**
 * Finds the SM clock for the final shares, at the current memory clock and at each lower one, and returns the clocks
 * with the highest throughput. If no clock meets the cap, the state is returned unchanged, although it exceeds the cap.
 */
function retune(
  asked: AskedModel,
  space: Parameters<typeof solveClock>[1],
  tenants: PublishedTenants,
  state: PublishedState,
): PublishedState {
  let best = state
  let bestThroughput = Number.NEGATIVE_INFINITY
  for (const memClockMhz of space.memClocksMhz.filter((clock) => clock <= state.memClockMhz)) {
    const raise = memClockMhz < state.memClockMhz
    const smClockMhz = solveClock(asked, space, tenants, memClockMhz, state.smClockMhz, raise)
    if (smClockMhz === undefined) continue
    const { throughput } = asked.predict(tenants, smClockMhz, memClockMhz)
    if (throughput > bestThroughput) {
      bestThroughput = throughput
      best = { smClockMhz, memClockMhz }
    }
  }
  return best
}

function stepOf(asked: AskedModel, model: string, choice: PublishedChoice): PublishedStep {
  const { tenants, smClockMhz, memClockMhz } = choice
  const { throughput, powerW } = asked.predict(tenants, smClockMhz, memClockMhz)
  const admitted = { model, mpsPercent: tenants.shares.at(-1)!, batchSize: tenants.batches.at(-1)! }
  return { admitted, smClockMhz, memClockMhz, throughput, powerW }
}

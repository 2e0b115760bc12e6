import type { Predictor } from '@pctodl/perf-model'
import { smClocksAt } from '@pctodl/platform'
import { type BrokenBound, tightestBound } from './bounds.js'
import { sumOf } from './composition.js'
import type { PartitionOptions } from './options.js'
import { powerToCap } from './plan-risk.js'
import type { InfeasiblePartition } from './result.js'
import { type SearchProblem, searchProblem } from './search-problem.js'

/** The lowest board power at which every network has a tenant and all bounds hold. */
export interface MinPower {
  /** Composition with one kind per network. */
  readonly composition: readonly number[]
  readonly memIndex: number
  /** Power, W; with a chance constraint, the corresponding quantile of the power. */
  readonly powerW: number
}

/** Cost of a candidate. The comparison considers violated bounds first, then power. */
interface Cost {
  /** The bound that is violated most; undefined if all bounds are met. */
  readonly broken: BrokenBound | undefined
  readonly powerW: number
}

/**
 * The lowest power cap for which `partition` finds a configuration, W, including the margin and rounded up to the
 * milliwatt. Null if no cap helps (device memory, latency SLO, minimum throughput, distance, or power above the board's
 * highest limit).
 *
 * One tenant per network draws the least power. For one network, every share, batch size and memory state is tried at
 * the lowest clock that meets the tenant bounds. This is exact if power and throughput rise with the clock and latency
 * falls. For several networks, the tenants are optimised in turn until none changes. The resulting cap is sufficient,
 * but may not be the lowest.
 *
 * @throws InvalidInputError
 */
export function lowestFeasibleCap(predictor: Predictor, options: Omit<PartitionOptions, 'powerCapW'>): number | null {
  const problem = searchProblem(predictor, { ...options, powerCapW: Number.MAX_VALUE })
  const least = minPower(predictor, problem)
  if ('reason' in least) return null
  const capW = capFor(least.powerW, problem.powerMarginW)
  return capW <= predictor.spec.powerLimitW.max ? capW : null
}

/** A cap that leaves at least `powerW` after the margin, rounded up to the milliwatt. */
export function capFor(powerW: number, marginW: number): number {
  return Math.ceil((powerW + marginW) * 1000 + 1e-6) / 1000
}

/** Like `lowestFeasibleCap`, but returns the tenants and their power, or the reason why no cap helps. */
export function minPower(
  predictor: Predictor,
  problem: SearchProblem,
): MinPower | Pick<InfeasiblePartition, 'reason' | 'message'> {
  const { kinds } = problem
  const leanest = kinds.networks.map((_, network) =>
    kinds.at(network, 1).reduce((a, b) => (kinds.memoryBytes[b]! < kinds.memoryBytes[a]! ? b : a)),
  )
  const minBytes = sumOf(kinds.memoryBytes, leanest)
  if (minBytes > problem.memoryBytes) {
    return {
      reason: 'memory',
      message:
        `the smallest tenants of ${kinds.networks.join(', ')} need ${MiB(minBytes)} of device memory, ` +
        `${MiB(problem.memoryBytes)} are there; allow smaller batches (batchSizes) or use a board with more memory`,
    }
  }

  let best: (MinPower & Cost) | undefined
  for (let memIndex = 0; memIndex < problem.memClocksMhz.length; memIndex++) {
    const found = descend(predictor, problem, leanest, memIndex)
    if (best === undefined || cheaper(found, best)) best = found
  }
  const { broken, ...least } = best!
  return broken === undefined
    ? least
    : { reason: broken.reason, message: messageOf(predictor, problem, least.composition, broken) }
}

/** Message with the bound that is always violated, the best value found, and the remedy. */
function messageOf(
  predictor: Predictor,
  problem: SearchProblem,
  composition: readonly number[],
  broken: BrokenBound,
): string {
  const { kinds, latencyPercentile } = problem
  const network = kinds.network[composition[broken.tenant]!]!
  const name = kinds.networks[network]!
  if (broken.reason === 'distance') {
    return (
      `all that ${kinds.networks.join(', ')} could run as on ${predictor.spec.name} lies further than ` +
      `${problem.maxDistance} from what the predictor was fitted to: measure some rows, or allow a larger maxDistance`
    )
  }
  if (broken.reason === 'min-throughput') {
    return (
      `no tenant of ${name} reaches ${problem.minTenantThroughput[network]} samples/s within the other bounds, at any clock: ` +
      `the most found is ${broken.found.toFixed(2)}; lower minTenantThroughput, or allow larger batches or shares`
    )
  }
  const latency = latencyPercentile === 'p99' ? '99th-percentile latency' : 'latency'
  return (
    `${name} cannot keep a ${latency} of ${problem.latencySloMs[network]} ms within the other bounds, at any clock: ` +
    `the lowest found is ${broken.found.toFixed(2)} ms; relax latencySloMs or allow smaller batches (batchSizes)`
  )
}

/**
 * Optimise the tenant of one network after the other, with the other tenants fixed, until a whole round changes none.
 */
function descend(predictor: Predictor, problem: SearchProblem, start: readonly number[], memIndex: number) {
  const { kinds } = problem
  let best = { ...costOf(predictor, problem, start, memIndex), composition: start, memIndex }
  for (let changed = true; changed; ) {
    changed = false
    for (let kind = 0; kind < kinds.tenants.length; kind++) {
      const composition = best.composition.with(kinds.network[kind]!, kind)
      if (sumOf(kinds.units, composition) > problem.totalUnits) continue
      if (sumOf(kinds.memoryBytes, composition) > problem.memoryBytes) continue
      const cost = costOf(predictor, problem, composition, memIndex, best)
      if (cheaper(cost, best)) {
        best = { ...cost, composition, memIndex }
        // With one network, the first round has tried everything.
        changed = kinds.networks.length > 1
      }
    }
  }
  return best
}

/** Cost at the lowest clock that meets the tenant bounds, or at the highest clock if no clock meets them. */
function costOf(
  predictor: Predictor,
  problem: SearchProblem,
  composition: readonly number[],
  memIndex: number,
  toBeat?: Cost,
): Cost {
  const tenants = composition.map((kind) => problem.kinds.tenants[kind]!)
  const memClockMhz = problem.memClocksMhz[memIndex]!
  const clocks = smClocksAt(predictor.spec, memClockMhz)!
  const at = (index: number): Cost => {
    const configuration = { tenants, memClockMhz, smClockMhz: clocks[index]! }
    const prediction = predictor.predict(configuration)
    const bound = tightestBound(problem, composition, prediction)
    return {
      broken: bound !== undefined && bound.ratio > 1 ? bound : undefined,
      powerW: powerToCap(predictor, configuration, prediction, problem.riskOfEach),
    }
  }
  const slowest = at(0)
  if (slowest.broken === undefined) return slowest
  // Power only rises with the clock, so a candidate that draws too much at the lowest clock can be skipped.
  if (toBeat !== undefined && toBeat.broken === undefined && slowest.powerW >= toBeat.powerW) return slowest
  let low = 0
  let high = clocks.length - 1
  let cost = at(high)
  if (cost.broken !== undefined) return cost
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    const tried = at(middle)
    if (tried.broken !== undefined) low = middle
    else {
      high = middle
      cost = tried
    }
  }
  return cost
}

function cheaper(a: Cost, b: Cost): boolean {
  const ratioA = a.broken?.ratio ?? 0
  const ratioB = b.broken?.ratio ?? 0
  return ratioA !== ratioB ? ratioA < ratioB : a.powerW < b.powerW
}

function MiB(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(0)} MiB`
}

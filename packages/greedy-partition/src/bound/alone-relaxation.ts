import type { Predictor } from '@pctodl/perf-model'
import { smClocksAt } from '@pctodl/platform'
import type { SearchProblem } from '../search-problem.js'
import type { ThroughputBound } from './throughput-bound.js'

/** Performance of every kind running alone on the board, at one pair of clocks. */
interface AloneAtClock {
  /** Weighted samples/s; 0 if the kind alone exceeds the power limit. */
  readonly value: Float64Array
  readonly powerW: Float64Array
}

/** Steps of the search for the best price of power; any price gives a valid bound, so this only affects tightness. */
const PRICE_STEPS = 80

/**
 * An upper bound from predictions of tenants alone on the board, for predictors without `mixBounds`. It relaxes the
 * problem to tenants that do not slow each other down, and assumes of the predictor that
 *
 * 1. a tenant in a mix is at most as fast as alone at the same clocks,
 * 2. adding a tenant never lowers power at the same clocks,
 * 3. a sample in a mix needs at least the energy above the empty board's power that it needs alone.
 *
 * Let v be a kind's weighted throughput alone, P its power alone, p0 the least P of all kinds, s its share, and r <= 1
 * the part of v that a tenant keeps in the mix. The power of the empty board is at most p0. So by 3 the mix draws at
 * least p0 + sum r (P - p0) once sum r >= 1, and its value is at most that of the linear program: maximise sum r v
 * subject to sum r s <= 100 and sum r (P - p0) <= limit - p0. Where sum r < 1 the value is at most the largest v, which
 * by 2 belongs to a kind allowed alone, and the program includes that too. The program's dual has one price for share
 * and one for power; every price of power gives a bound, and the smallest is used. The result is the largest over all
 * clocks. Memory, tenant bounds and `maxTenants` are ignored, which can only raise it. Null if not even a single tenant
 * is within the cap.
 */
export function aloneRelaxation(predictor: Predictor, problem: SearchProblem): ThroughputBound | null {
  let best: ThroughputBound | null = null
  for (const memClockMhz of problem.memClocksMhz) {
    for (const smClockMhz of smClocksAt(predictor.spec, memClockMhz)!) {
      const alone = aloneAt(predictor, problem, smClockMhz, memClockMhz)
      if (!alone.value.some((value) => value > 0)) continue
      const weightedThroughput = boundAt(problem, alone)
      if (best === null || weightedThroughput > best.weightedThroughput) {
        best = { weightedThroughput, smClockMhz, memClockMhz, exact: false }
      }
    }
  }
  return best
}

function aloneAt(
  predictor: Predictor,
  { kinds, weights, powerLimitW }: SearchProblem,
  smClockMhz: number,
  memClockMhz: number,
): AloneAtClock {
  const value = new Float64Array(kinds.tenants.length)
  const powerW = new Float64Array(kinds.tenants.length)
  kinds.tenants.forEach((tenant, kind) => {
    const prediction = predictor.predict({ tenants: [tenant], smClockMhz, memClockMhz })
    powerW[kind] = prediction.powerW
    if (prediction.powerW <= powerLimitW) value[kind] = weights[kinds.network[kind]!]! * prediction.throughput
  })
  return { value, powerW }
}

/** Minimum of the dual at one pair of clocks; it is convex in the price of power. */
function boundAt({ kinds, totalUnits, powerLimitW }: SearchProblem, { value, powerW }: AloneAtClock): number {
  const minW = powerW.reduce((a, b) => Math.min(a, b))
  const roomW = powerLimitW - minW
  const dual = (perWatt: number): number => {
    let perUnit = 0
    for (let kind = 0; kind < value.length; kind++) {
      if (value[kind] === 0) continue
      perUnit = Math.max(perUnit, (value[kind]! - perWatt * (powerW[kind]! - minW)) / kinds.units[kind]!)
    }
    return perUnit * totalUnits + perWatt * roomW
  }
  let low = 0
  let high = roomW > 0 ? dual(0) / roomW : 0
  for (let i = 0; i < PRICE_STEPS; i++) {
    const a = low + (high - low) / 3
    const b = high - (high - low) / 3
    if (dual(a) <= dual(b)) high = b
    else low = a
  }
  return dual(0.5 * (low + high))
}

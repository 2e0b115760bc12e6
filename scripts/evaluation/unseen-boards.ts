import { type BoardVariant, boardVariants, simulateSteadyState } from '@pctodl/gpu-sim'
import type { PartitionOptions } from '@pctodl/greedy-partition'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import type { PerfModel } from '@pctodl/perf-model'
import type { Configuration, TraceRow } from '@pctodl/platform'
import { freshConfigurations } from './fresh-configurations.js'
import { planLike } from './plan-mixes.js'
import { fits } from './prediction-errors.js'

export type Truth = ReturnType<typeof simulateSteadyState>

/** A variant of a board at any clock: no power limit lowers it. */
export const truthOf = (variant: BoardVariant): Truth => simulateSteadyState(variant, { powerLimitW: 1e9 })

/** Index of the equations of a variant: five in turn. */
export const STRUCTURES = 5

/** Variants of a seed, of some of the equations. */
export function variantsOf(board: string, count: number, seed: number, structures: readonly number[]): BoardVariant[] {
  return boardVariants(board, { count: Math.ceil((count * STRUCTURES) / structures.length), seed })
    .filter((_, i) => structures.includes((i + 1) % STRUCTURES))
    .slice(0, count)
}

/** Random configurations that fit the board. */
export function randomMixes(model: PerfModel, count: number, purpose: string): Configuration[] {
  return freshConfigurations(model, 2 * count, purpose)
    .filter((wanted) => fits(model, wanted))
    .slice(0, count)
}

/** What a user measures on a board before planning for it: random mixes and such as plans are, in turn. */
export function measuredConfigurations(model: PerfModel, count: number, purpose: string): Configuration[] {
  const half = Math.ceil(count / 2)
  const plans = planLike(model, half, purpose)
  return randomMixes(model, half, purpose)
    .flatMap((wanted, i) => [wanted, plans[i]!])
    .slice(0, count)
}

export function rowOf(truth: Truth, { tenants, smClockMhz, memClockMhz }: Configuration): TraceRow {
  const ran = truth({ tenants, smClockMhz, memClockMhz })
  return {
    tenants,
    targetSmClockMhz: smClockMhz,
    memClockMhz,
    smClockMhz: ran.smClockMhz,
    smUtilPercent: ran.smUtilPercent,
    memUtilPercent: ran.memUtilPercent,
    throughput: ran.throughput,
    powerAverageW: ran.powerW,
    powerMaxW: ran.powerW,
    tenantThroughput: ran.tenants.map((tenant) => tenant.throughput),
    tenantLatencyMs: ran.tenants.map((tenant) => tenant.batchMs),
    memoryUsedBytes: 0,
    failed: false,
  }
}

/** Ten questions for a search: one network under a cap, and two of them now and then. */
export function planProblems(model: PerfModel, purpose: string, count = 10): PartitionOptions[] {
  const { spec, networks } = model
  return Array.from({ length: count }, (_, i) => {
    const random = new SeededRandom(seedFrom('problem', purpose, spec.key, i))
    const names = [networks[i % networks.length]!]
    if (i >= 0.7 * count) names.push(networks[(i + 3) % networks.length]!)
    return {
      models: names.map((name) => ({ model: name })),
      powerCapW: Math.round(spec.powerLimitW.default * (0.42 + 0.4 * random.uniform())),
      budgetEvaluations: 1200,
      mostDistance: Number.POSITIVE_INFINITY,
    }
  })
}

import type { ArrivalProcess } from '@pctodl/traffic'
import { check } from '../check.js'
import type { ServiceObjective } from '../profile.js'
import type { SimulationOptions } from './simulate-queue.js'

/** Traffic and errors that a plan with the `tail` gate must tolerate. */
export interface StatedTraffic {
  /**
   * Burstiness of requests: the variance of the gaps between them over their squared mean, 0.1 to 100. Default 1, for
   * independent users (Poisson). A plan is also checked with more regular traffic, which is not always easier: free
   * workers then take smaller batches.
   */
  readonly burstiness?: number
  /** Further arrival processes, such as on/off traffic or a recorded trace, each scaled to a rate. */
  readonly arrivals?: readonly ((ratePerS: number) => ArrivalProcess)[]
  /** Relative error by which rates may be higher than stated, 0 to 1. Default 0.05. */
  readonly rateError?: number
  /** Relative error by which batches may take longer than measured, 0 to 1. Default 0.05. */
  readonly timeError?: number
}

/** Burstiness values that are also tried if they are below the stated one. 1 is always tried. */
const CALMER = [0.25, 2]

/** A service under the stated errors. Longer batches are modelled by shorter objectives and higher rates. */
export function underErrors<T extends ServiceObjective>(
  service: T,
  { rateError = 0.05, timeError = 0.05 }: StatedTraffic,
): T {
  const { ratePerS, latencyMs } = service
  return { ...service, ratePerS: ratePerS * (1 + rateError) * (1 + timeError), latencyMs: latencyMs / (1 + timeError) }
}

/** Arrivals that a plan must tolerate, as options of a simulation. */
export function statedArrivals({ burstiness = 1, arrivals = [] }: StatedTraffic): SimulationOptions[] {
  const gaps = [...CALMER.filter((each) => each < burstiness), 1, burstiness]
  return [...[...new Set(gaps)].map((each) => ({ burstiness: each })), ...arrivals.map((each) => ({ arrivals: each }))]
}

/** @throws InvalidInputError for numbers out of range */
export function assertTraffic({ burstiness = 1, rateError = 0.05, timeError = 0.05 }: StatedTraffic): void {
  const expected = 'a number from 0.1 to 100; 1 is Poisson'
  check(burstiness >= 0.1 && burstiness <= 100, 'burstiness', burstiness, expected)
  for (const [name, error] of Object.entries({ rateError, timeError })) {
    check(error >= 0 && error <= 1, name, error, 'a share from 0 to 1')
  }
}

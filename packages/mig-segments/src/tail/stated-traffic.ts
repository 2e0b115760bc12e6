import { InvalidInputError } from '@pctodl/platform'
import type { ArrivalProcess } from '@pctodl/traffic'
import type { ServiceObjective } from '../profile.js'
import type { SimulatedService, SimulationOptions } from './simulate-queue.js'
import { isLate } from './until-kept.js'

/** The traffic and the errors for which a plan by the tail must hold. */
export interface StatedTraffic {
  /**
   * How unevenly requests come: the variance of the gaps between them over their squared mean, 0.1 to 100. Default 1, requests of independent
   * users (Poisson). A plan holds for calmer gaps, too: free workers take small batches, so calm traffic is not always easier.
   */
  readonly burstiness?: number
  /** Processes for which it must hold besides, such as on/off traffic or a recorded trace, each at a rate. */
  readonly arrivals?: readonly ((ratePerS: number) => ArrivalProcess)[]
  /** By how much rates may be higher than stated, a share from 0 to 1. Default 0.05. */
  readonly rateError?: number
  /** By how much batches may take longer than measured, a share from 0 to 1. Default 0.05. */
  readonly timeError?: number
}

/** Burstinesses that are tried beside the stated one, as far as they are calmer; 1 always. */
const CALMER = [0.25, 2]

/**
 * A service under the stated errors. A queue whose batches take longer by a share is one that runs slower as a whole: more requests come for each of
 * its seconds, and its objective is as much shorter.
 */
export function underErrors<T extends ServiceObjective>(
  service: T,
  { rateError = 0.05, timeError = 0.05 }: StatedTraffic,
): T {
  const { ratePerS, latencyMs } = service
  return { ...service, ratePerS: ratePerS * (1 + rateError) * (1 + timeError), latencyMs: latencyMs / (1 + timeError) }
}

/** Ways for requests to come that a plan must keep, as options of a simulation. */
export function statedArrivals({ burstiness = 1, arrivals = [] }: StatedTraffic): SimulationOptions[] {
  const gaps = [...CALMER.filter((each) => each < burstiness), 1, burstiness]
  return [...[...new Set(gaps)].map((each) => ({ burstiness: each })), ...arrivals.map((each) => ({ arrivals: each }))]
}

/** Samples of processes whose rate changes: a burst counts once, however many requests it has, and the worst sample decides. */
const CORRELATED_SAMPLES = 10

/** Services that are late under some of the stated traffic. @param simulate lets it come to the services under the stated errors */
export function lateUnder(
  traffic: StatedTraffic,
  seed: number,
  simulate: (options: SimulationOptions) => readonly SimulatedService[],
): Set<string> {
  const late = statedArrivals(traffic).flatMap((options) =>
    Array.from({ length: options.arrivals ? CORRELATED_SAMPLES : 1 }, (_, sample) =>
      simulate({ ...options, seed: seed + sample }).filter(isLate),
    ).flat(),
  )
  return new Set(late.map(({ model }) => model))
}

/** @throws InvalidInputError for errors out of range */
export function assertErrors({ rateError = 0.05, timeError = 0.05 }: StatedTraffic): void {
  for (const [name, error] of Object.entries({ rateError, timeError })) {
    if (!(error >= 0 && error <= 1)) throw new InvalidInputError(name, error, 'a share from 0 to 1')
  }
}

import { fixedCap } from '@pctodl/platform'
import type { PowerCapPolicy } from '@pctodl/scheduler'
import { highestRate, poissonArrivals, queriesNeeded } from '@pctodl/traffic'
import { runServerLoad, type ServerLoad, type ServerRun, WARM_UP_S } from './serve.js'
import type { ServerTask } from './service-tasks.js'

export interface MaxLoadOptions extends Pick<ServerLoad, 'boardName' | 'seed'> {
  /** First factor to try. Default 2, because most tasks can serve twice their own rates. */
  readonly from?: number
  /** Maximum relative gap between the highest factor that passes and the lowest that fails. Default 0.03. */
  readonly precision?: number
  readonly signal?: AbortSignal | undefined
}

/** Measured time of a trial, s. */
const TRIAL_S = 30
const MAX_TRIALS = 14
const PERCENTILE = 0.99

/** Whether the cap holds and every service's p99 is within its objective, at the 99 % confidence that LoadGen uses. */
export function holds({ services, capHolds }: Pick<ServerRun, 'services' | 'capHolds'>): boolean {
  if (!capHolds) return false
  return services.every(({ completed, late, shed, failed }) => {
    const missed = late + shed + failed
    return completed + shed + failed >= queriesNeeded(PERCENTILE, missed)
  })
}

type Mix = Pick<ServerTask, 'services' | 'caps'>

/**
 * Finds the highest common factor on a task's rates at which every service meets its p99 and the cap holds. Arrivals
 * are steady Poisson arrivals under the task's first cap, and all services are present from the start. As in LoadGen,
 * the factor is doubled or halved until it is bracketed, then bisected.
 *
 * @param create returns a new policy for a factor and the services of the trials
 * @returns the highest factor and the run at that factor; undefined if no factor was found
 */
export async function maxLoad(
  { services, caps }: Mix,
  create: (loadFactor: number, mix: Mix) => PowerCapPolicy,
  { boardName, seed, from = 2, precision = 0.03, signal }: MaxLoadOptions,
): Promise<{ readonly loadFactor: number; readonly run: ServerRun } | undefined> {
  const mix = {
    services: services.map(({ service, meanPerS }) => {
      return { service, meanPerS, traffic: (ratePerS: number) => poissonArrivals({ ratePerS }) }
    }),
    caps: fixedCap(caps[0]!.powerCapW),
  }
  const held = new Map<number, ServerRun>()
  const trial = async (loadFactor: number) => {
    const load = { ...mix, durationS: WARM_UP_S + TRIAL_S, boardName, seed, loadFactor }
    const run = await runServerLoad(load, create(loadFactor, mix), { signal })
    if (holds(run)) held.set(loadFactor, run)
    return held.has(loadFactor)
  }
  const { ratePerS } = await highestRate(trial, { fromPerS: from, precision, maxTrials: MAX_TRIALS })
  const run = held.get(ratePerS ?? Number.NaN)
  return run && { loadFactor: ratePerS!, run }
}

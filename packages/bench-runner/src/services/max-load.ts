import { fixedCap } from '@pctodl/platform'
import type { PowerCapPolicy } from '@pctodl/scheduler'
import { highestRate, poissonArrivals, queriesNeeded } from '@pctodl/traffic'
import { runServerLoad, type ServerRun, WARM_UP_S } from './serve.js'
import type { ServerTask } from './service-tasks.js'

export interface MaxLoadOptions {
  readonly boardName: string
  readonly seed: number
  /** First factor to try. Default 1. */
  readonly from?: number
  /** Maximum relative gap between the highest load that passes and the lowest that fails. Default 0.03. */
  readonly precision?: number
  readonly signal?: AbortSignal
}

/** Measured time of a trial, s. */
const TRIAL_S = 30
const MAX_TRIALS = 14
const PERCENTILE = 0.99

/**
 * Returns the task's mix as steady Poisson arrivals under the task's first cap. All services are present from the
 * start.
 */
export function steadyMix({
  services,
  caps,
}: Pick<ServerTask, 'services' | 'caps'>): Pick<ServerTask, 'services' | 'caps' | 'durationS'> {
  return {
    services: services.map(({ service, meanPerS }) => ({
      service,
      meanPerS,
      traffic: (ratePerS: number) => poissonArrivals({ ratePerS }),
    })),
    caps: fixedCap(caps[0]!.powerCapW),
    durationS: WARM_UP_S + TRIAL_S,
  }
}

/** Whether the cap holds and every service's p99 is within its objective, at the 99 % confidence that LoadGen uses. */
export function holds({ services, capHolds }: Pick<ServerRun, 'services' | 'capHolds'>): boolean {
  if (!capHolds) return false
  return services.every(({ completed, late, shed, failed }) => {
    const missed = late + shed + failed
    return completed + shed + failed >= queriesNeeded(PERCENTILE, missed)
  })
}

/**
 * The highest common factor on a task's rates at which every service meets its p99 and the cap holds. The factor is
 * doubled or halved until it is bracketed, then bisected, as LoadGen finds a server's peak.
 *
 * @param create a fresh policy for a factor
 * @returns the highest factor and the run at that factor; undefined if no factor was found
 */
export async function maxLoad(
  task: Pick<ServerTask, 'services' | 'caps'>,
  create: (loadFactor: number) => PowerCapPolicy,
  { boardName, seed, from = 1, precision = 0.03, signal }: MaxLoadOptions,
): Promise<{ readonly loadFactor: number; readonly run: ServerRun } | undefined> {
  const mix = steadyMix(task)
  const held = new Map<number, ServerRun>()
  const trial = async (loadFactor: number) => {
    const load = { ...mix, boardName, seed, loadFactor }
    const run = await runServerLoad(load, create(loadFactor), signal ? { signal } : {})
    if (holds(run)) held.set(loadFactor, run)
    return held.has(loadFactor)
  }
  const { ratePerS } = await highestRate(trial, { fromPerS: from, precision, maxTrials: MAX_TRIALS })
  const run = held.get(ratePerS ?? Number.NaN)
  return run && { loadFactor: ratePerS!, run }
}

import { type ServicesStart, ServicesUnderLimitPolicy } from '@pctodl/baselines'
import type { PerfModel } from '@pctodl/perf-model'
import { type Service, smClocksAt } from '@pctodl/platform'
import type { PlannedLoad } from '@pctodl/scheduler'
import { runServerLoad, type ServerLoad, type ServerRun } from './serve.js'
import type { ServerTask } from './service-tasks.js'

type SharePlan = (model: PerfModel, load: PlannedLoad) => ServicesStart

/** Tenants of a plan at one locked clock, and what came of it. */
export interface LockedRun {
  readonly memClockMhz: number
  readonly smClockMhz: number
  readonly run: ServerRun
}

/**
 * The single locked clock with the fewest joules for each request in time, found by trying the very load: by bisection on each memory
 * clock, for energy rises with the clock. Where none keeps every objective and the cap, the clock that comes nearest.
 */
export async function bestLockedClock(
  task: ServerTask,
  load: ServerLoad,
  model: PerfModel,
  plans: readonly SharePlan[],
  signal?: AbortSignal,
): Promise<LockedRun> {
  let best: LockedRun | undefined
  for (const plan of plans) {
    for (const memClockMhz of model.memClocksMhz) {
      const clocks = smClocksAt(model.spec, memClockMhz)!
      const attempt = async (index: number): Promise<boolean> => {
        const clock = { memClockMhz, smClockMhz: clocks[index]! }
        const policy = lockedPolicy('oracle', task, model, plan, clock, load.loadFactor)
        const run = await runServerLoad(load, policy, signal ? { signal } : {})
        if (!best || isBetter(run, best.run)) best = { ...clock, run }
        return keepsAll(run)
      }
      let low = -1
      let high = clocks.findLastIndex((clock) => clock <= model.spec.boostClockMhz)
      if (!(await attempt(high))) continue
      while (high - low > 2) {
        const middle = (low + high) >> 1
        if (await attempt(middle)) high = middle
        else low = middle
      }
    }
  }
  return best!
}

/** A plan's tenants at one clock from the start to the end; under a cap that the clock exceeds the board's limit holds. */
export function lockedPolicy(
  name: string,
  task: Pick<ServerTask, 'services'>,
  model: PerfModel,
  plan: SharePlan,
  clock: { readonly memClockMhz: number; readonly smClockMhz: number },
  loadFactor = 1,
): ServicesUnderLimitPolicy {
  const meanPerS = ({ name }: Service) =>
    loadFactor * task.services.find(({ service }) => service.name === name)!.meanPerS
  return new ServicesUnderLimitPolicy({
    name,
    spec: model.spec,
    services: task.services.filter(({ fromS = 0 }) => fromS === 0).map(({ service }) => service),
    plan: (services, powerCapW) => ({
      ...plan(model, { services, ratesPerS: services.map(meanPerS), powerCapW }),
      ...clock,
      locked: true,
    }),
  })
}

function keepsAll({ objectivesMet, capHolds }: ServerRun): boolean {
  return objectivesMet && capHolds
}

function isBetter(run: ServerRun, before: ServerRun): boolean {
  if (keepsAll(run) !== keepsAll(before)) return keepsAll(run)
  if (keepsAll(run)) return run.energyPerRequestJ! < before.energyPerRequestJ!
  return worst(run) > worst(before)
}

function worst({ services }: ServerRun): number {
  return Math.min(...services.map(({ attainment }) => attainment ?? 0))
}

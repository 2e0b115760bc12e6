import type { PerfModel } from '@pctodl/perf-model'
import { smClocksAt } from '@pctodl/platform'
import { fixedClockPolicy, limitOptions, type SharePlan } from '@pctodl/run/policy'
import type { ClockPlan } from '@pctodl/scheduler'
import { runServerLoad, type ServerLoad, type ServerRun } from './serve.js'

/** A locked clock and the run at that clock. */
export interface LockedRun {
  readonly clocks: ClockPlan
  readonly run: ServerRun
}

/**
 * Finds the single locked clock with the least energy per request answered in time. It runs the load itself and bisects
 * on each memory clock, because energy rises with the clock. If no clock meets every objective and the cap, it returns
 * the one that comes closest.
 *
 * @param attainment fraction of each service's requests to answer within the objective, 0..1
 */
export async function bestLockedClock(
  load: ServerLoad,
  model: PerfModel,
  plans: readonly SharePlan[],
  attainment: number,
  signal?: AbortSignal,
): Promise<LockedRun> {
  const keepsAll = (run: ServerRun) => run.capHolds && worst(run) >= attainment
  const isBetter = (run: ServerRun, before: ServerRun) => {
    if (keepsAll(run) !== keepsAll(before)) return keepsAll(run)
    return keepsAll(run) ? run.energyPerRequestJ! < before.energyPerRequestJ! : worst(run) > worst(before)
  }
  let best: LockedRun | undefined
  for (const plan of plans) {
    const options = limitOptions('oracle', load, plan, { model, loadFactor: load.loadFactor ?? 1 })
    for (const memClockMhz of model.memClocksMhz) {
      const smClocksMhz = smClocksAt(model.spec, memClockMhz)!
      const attempt = async (index: number): Promise<boolean> => {
        const clocks = { memClockMhz, smClockMhz: smClocksMhz[index]! }
        const run = await runServerLoad(load, fixedClockPolicy(options, clocks), { signal })
        if (!best || isBetter(run, best.run)) best = { clocks, run }
        return keepsAll(run)
      }
      let low = -1
      let high = smClocksMhz.findLastIndex((clock) => clock <= model.spec.boostClockMhz)
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

function worst({ services }: ServerRun): number {
  return Math.min(...services.map(({ attainment }) => attainment ?? 1))
}

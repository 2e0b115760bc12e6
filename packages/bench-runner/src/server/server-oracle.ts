import { FeedbackClock, LimitPolicy } from '@pctodl/baselines'
import type { PerfModel } from '@pctodl/perf-model'
import { type Configuration, type Service, smClocksAt, type Tenant } from '@pctodl/platform'
import { type ClockPlan, type PlannedLoad, type PowerCapPolicy, planClocks } from '@pctodl/scheduler'
import { holds, mostLoad, steadyMix } from './most-load.js'
import { runServerLoad, type ServerRun } from './run-server-task.js'
import { fixedClockPolicy } from './server-policies.js'
import type { ServerTask } from './server-tasks.js'
import { equalShares, parvaShares, plannedShares } from './share-plans.js'

export interface OracleOptions {
  readonly model: PerfModel
  readonly boardName: string
  readonly seed: number
  /** Common factor on the rates of a run. Default 1. */
  readonly loadFactor?: number
  readonly signal?: AbortSignal
}

/** Trials of neighbours at most. */
const MOST_NEIGHBOURS = 60
/** A neighbour must bear so much more. */
const BETTER = 1.02

type Fixed = Pick<Configuration, 'tenants' | 'memClockMhz'>
type Shares = (model: PerfModel, load: PlannedLoad) => Configuration
/** A run at locked clocks. */
type LockedRun = ServerRun & { readonly clocks: ClockPlan }

/**
 * The most load of the best static tenants, found on the very board that is asked, with the very arrivals: the best of several
 * plans, then their neighbours (shares moved by 10 and 5 %, batches halved and doubled, the other memory clocks) as long as one
 * bears more. The board's limit holds the cap and picks the highest clock that it allows.
 */
export async function oracleMostLoad(
  task: ServerTask,
  options: OracleOptions,
): Promise<{ loadFactor: number } & Fixed> {
  const { model, boardName, seed, signal } = options
  const mix = steadyMix(task)
  const load = loadOf(task)
  const starts = [plannedShares, equalShares, parvaShares].map((plan) => plan(model, load))
  let best: { loadFactor: number } & Fixed = { loadFactor: 0, ...starts[0]! }
  const bears = async (fixed: Fixed, loadFactor: number) =>
    holds(
      await runServerLoad({ ...mix, boardName, seed, loadFactor }, under(model, load, fixed), signal ? { signal } : {}),
    )
  for (const fixed of starts) {
    if (best.loadFactor > 0 && !(await bears(fixed, BETTER * best.loadFactor))) continue
    const loadFactor = await mostLoad(task, () => under(model, load, fixed), { ...options, from: best.loadFactor || 1 })
    if (loadFactor > best.loadFactor) best = { ...fixed, loadFactor }
  }
  let trials = 0
  for (let improved = best.loadFactor > 0; improved; ) {
    improved = false
    for (const neighbour of neighbours(best, model.memClocksMhz, load.services)) {
      if (trials++ >= MOST_NEIGHBOURS) return best
      let loadFactor = BETTER * best.loadFactor
      if (!(await bears(neighbour, loadFactor))) continue
      while (await bears(neighbour, BETTER * loadFactor)) loadFactor *= BETTER
      best = { ...neighbour, loadFactor }
      improved = true
      break
    }
  }
  return best
}

/**
 * A task's run with the fewest joules for each request in time, of those that keep every objective, among static plans with a
 * locked clock; where none keeps them, the one that comes nearest. It is told the task, arrivals and all, and tries everything on
 * the board itself.
 */
export async function oracleRun(
  task: ServerTask,
  { model, boardName, seed, loadFactor = 1, signal }: OracleOptions,
  shares: readonly Shares[] = [plannedShares, equalShares],
): Promise<LockedRun> {
  let best: LockedRun | undefined
  for (const plan of shares) {
    for (const memClockMhz of model.memClocksMhz) {
      const clocksMhz = smClocksAt(model.spec, memClockMhz)!
      const run = async (index: number): Promise<LockedRun> => {
        const clocks = { memClockMhz, smClockMhz: clocksMhz[index]! }
        const policy = locked(model, task, loadFactor, plan, clocks)
        const ran = await runServerLoad({ ...task, boardName, seed, loadFactor }, policy, signal ? { signal } : {})
        return { ...ran, clocks }
      }
      let low = -1
      let high = clocksMhz.findLastIndex((clock) => clock <= model.spec.boostClockMhz)
      let kept = await run(high)
      best = better(best, kept)
      if (!good(kept)) continue
      while (high - low > 2) {
        const middle = (low + high) >> 1
        kept = await run(middle)
        best = better(best, kept)
        if (good(kept)) high = middle
        else low = middle
      }
    }
  }
  return best!
}

/** The arrivals that `fixed-clock` is tuned on are not those that it is judged by. */
const TUNING_SEEDS_APART = 500_000

/** The clocks of `fixed-clock`: equal shares, found on the same board with other arrivals. */
export async function bestFixedClocks(task: ServerTask, options: OracleOptions): Promise<ClockPlan> {
  return (await oracleRun(task, { ...options, seed: options.seed + TUNING_SEEDS_APART }, [equalShares])).clocks
}

function good({ objectivesMet, capHolds }: ServerRun): boolean {
  return objectivesMet && capHolds
}

function better(before: LockedRun | undefined, run: LockedRun): LockedRun {
  if (!before || good(run) !== good(before)) return !before || good(run) ? run : before
  if (good(run)) return run.energyPerRequestJ! < before.energyPerRequestJ! ? run : before
  return worst(run) > worst(before) ? run : before
}

function worst({ services }: ServerRun): number {
  return Math.min(...services.map(({ attainment }) => attainment ?? 0))
}

function loadOf({ services, caps }: Pick<ServerTask, 'services' | 'caps'>): PlannedLoad {
  return {
    services: services.map(({ service }) => service),
    ratesPerS: services.map(({ meanPerS }) => meanPerS),
    powerCapW: caps[0]!.powerCapW,
  }
}

function under(model: PerfModel, { services }: PlannedLoad, fixed: Fixed): PowerCapPolicy {
  const smClockMhz = smClocksAt(model.spec, fixed.memClockMhz)!.findLast((clock) => clock <= model.spec.boostClockMhz)!
  return new LimitPolicy({
    name: 'oracle',
    spec: model.spec,
    services,
    plan: () => ({ ...fixed, smClockMhz }),
    planClocks: () => ({ ...fixed, smClockMhz }),
    clock: new FeedbackClock({ underLimit: 'planned' }),
  })
}

function locked(
  model: PerfModel,
  task: ServerTask,
  loadFactor: number,
  plan: Shares,
  clocks: ClockPlan,
): PowerCapPolicy {
  const options = {
    name: 'oracle',
    spec: model.spec,
    services: task.services.filter(({ fromS = 0 }) => fromS === 0).map(({ service }) => service),
    plan: (powerCapW: number, services: readonly Service[]) =>
      plan(model, { services, ratesPerS: services.map((service) => loadFactor * meanOf(task, service)), powerCapW }),
    planClocks: (tenants: readonly Tenant[], powerCapW: number, memClocksMhz?: readonly number[]) =>
      planClocks(model, tenants, powerCapW, memClocksMhz),
  }
  return fixedClockPolicy(options, clocks)
}

function meanOf({ services }: ServerTask, { name }: Service): number {
  return services.find(({ service }) => service.name === name)!.meanPerS
}

function* neighbours(
  { tenants, memClockMhz }: Fixed,
  memClocksMhz: readonly number[],
  services: readonly Service[],
): Generator<Fixed> {
  for (const other of memClocksMhz) if (other !== memClockMhz) yield { tenants, memClockMhz: other }
  for (const step of [10, 5]) {
    for (let from = 0; from < tenants.length; from++) {
      for (let to = 0; to < tenants.length; to++) {
        if (from === to || tenants[from]!.mpsPercent - step < 5) continue
        yield {
          memClockMhz,
          tenants: tenants.with(from, shared(tenants[from]!, -step)).with(to, shared(tenants[to]!, step)),
        }
      }
    }
  }
  for (const { name, maxBatchSize } of services) {
    const { batchSize } = tenants.find(({ service }) => service === name)!
    for (const other of [2 * batchSize, batchSize >> 1]) {
      if (other < 1 || other > maxBatchSize) continue
      yield {
        memClockMhz,
        tenants: tenants.map((tenant) => (tenant.service === name ? { ...tenant, batchSize: other } : tenant)),
      }
    }
  }
}

function shared(tenant: Tenant, percent: number): Tenant {
  return { ...tenant, mpsPercent: tenant.mpsPercent + percent }
}

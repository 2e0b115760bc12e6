import { InvalidInputError } from '@pctodl/platform'
import { shareWatts, type WattShares } from '../mechanisms/allocation.js'
import type { Mechanism } from '../mechanisms/mechanism.js'
import { type PowerWay, powerWays, type ShareRules } from '../mechanisms/share-rules.js'
import type { ActionRecord, EngineEvent } from './actions.js'
import type { EngineJob, Seat } from './engine-job.js'
import type { RunningJobs } from './running-jobs.js'

/** Maximum number of prices of a watt that are tried. At each price, seats and cores are assigned anew. */
const PRICES_TRIED = 6
const ROUNDING_W = 1e-9

/** A run that was told to stop. It draws power until it exits. */
interface Leaving {
  readonly run: number
  readonly placement: readonly Seat[]
  readonly watts: number
}

/** A power budget and the time from which it is valid, until the next step. */
interface BudgetStep {
  readonly fromS: number
  readonly powerW: number
}

/**
 * Treats power as a resource of the whole cluster. Each plan distributes among running jobs the watts that stopping runs
 * do not draw. A job waits if no watts are left for it, or if stopping runs still draw them.
 */
export class PowerShares {
  readonly #running: RunningJobs
  readonly #rules: ShareRules
  readonly #told: ActionRecord
  readonly #idleW: number
  #budget: BudgetStep[]
  readonly #leaving = new Map<EngineJob, Leaving>()
  /** Operating point of each started run. */
  readonly #ways = new Map<EngineJob, PowerWay>()
  #countedS: number
  /** Jobs that may only get seats on the type of GPU on which they need the fewest watts. */
  readonly frugal: Set<EngineJob> = new Set()
  /** Energy since the start, above idle, J. */
  energyJ = 0

  /** @throws InvalidInputError for a budget below the GPUs' idle power */
  constructor(running: RunningJobs, rules: ShareRules, told: ActionRecord) {
    this.#running = running
    this.#rules = rules
    this.#told = told
    this.#idleW = running.totals.idleW
    this.#countedS = running.nowS
    const powerW = running.options.powerBudgetW!
    this.assertBudget(powerW)
    this.#budget = [{ fromS: Number.NEGATIVE_INFINITY, powerW }]
  }

  /** @throws InvalidInputError for a budget below the GPUs' idle power */
  assertBudget(powerW: number): void {
    if (powerW >= this.#idleW) return
    throw new InvalidInputError('powerBudgetW', powerW, `at least ${this.#idleW} W, the idle power of the GPUs`)
  }

  get budgetW(): number {
    return this.#budget.findLast(({ fromS }) => fromS <= this.#running.nowS)!.powerW
  }

  /** Power for jobs above idle, W: the minimum of the current step and of the reductions already in effect. */
  get forJobsW(): number {
    const { nowS, options } = this.#running
    const coming = this.#budget.filter(({ fromS }) => fromS > nowS && fromS - options.budgetLeadS <= nowS)
    return Math.min(this.budgetW, ...coming.map(({ powerW }) => powerW)) - this.#idleW
  }

  /** Time at which `forJobsW` may change next, s; Infinity if never. */
  get nextChangeS(): number {
    const { nowS, options } = this.#running
    const changes = this.#budget.flatMap(({ fromS }) => [fromS - options.budgetLeadS, fromS])
    return Math.min(...changes.filter((atS) => atS > nowS))
  }

  /** Current power according to the profiles, idle GPUs included, W. */
  get powerW(): number {
    return this.#idleW + this.#jobsW
  }

  get anyLeaving(): boolean {
    return this.#leaving.size > 0
  }

  get #leavingW(): number {
    let watts = 0
    for (const leaving of this.#leaving.values()) watts += leaving.watts
    return watts
  }

  get #jobsW(): number {
    let watts = this.#leavingW
    for (const way of this.#ways.values()) watts += way.watts
    return watts
  }

  advance(toS: number): void {
    this.energyJ += (toS - this.#countedS) * this.#jobsW
    this.#countedS = toS
  }

  /** Minimum power of a running job on its seats, or of a waiting job on any seats, W. */
  minOf(job: EngineJob): number {
    if (job.state === 'running') return this.#waysOf(job)[0]!.watts
    const { servers } = this.#running.options.cluster
    return Math.min(...servers.map(({ gpuType }) => minOn(job, gpuType!)))
  }

  /** Whether a waiting job may get a seat on a server. */
  mayUse(job: EngineJob, server: number): boolean {
    return !this.frugal.has(job) || minOn(job, this.#typeOf(server)) <= this.minOf(job)
  }

  take(event: EngineEvent): void {
    if (event.type === 'budget') {
      const { powerBudgetW: powerW, fromS = this.#running.nowS } = event
      const others = this.#budget.filter((step) => step.fromS !== fromS)
      this.#budget = [...others, { fromS, powerW }].sort((a, b) => a.fromS - b.fromS)
    }
    if (event.type === 'finished' || event.type === 'stopped' || event.type === 'left') {
      const job = this.#running.find(event.jobId)!
      if (event.type !== 'left') this.#ways.delete(job)
      if (event.type !== 'left' || this.#leaving.get(job)?.run === event.run) this.#leaving.delete(job)
    }
    if (event.type === 'server-failed') {
      for (const [job, { placement }] of this.#leaving) {
        if (placement.some(({ server }) => server === event.server)) this.#leaving.delete(job)
      }
    }
  }

  /** A run is told to stop; a lost run draws no more power. */
  dismissed(job: EngineJob, placement: readonly Seat[], isLost: boolean): void {
    const way = this.#ways.get(job)
    this.#ways.delete(job)
    if (!isLost && way !== undefined) this.#leaving.set(job, { run: job.runs, placement, watts: way.watts })
  }

  /** Power limits of a running job's GPUs, W: one for each server of its placement, in the order of `seats`. */
  limitsOf(job: EngineJob): number[] | undefined {
    const limitsW = this.#ways.get(job)?.limitsW
    return limitsW && job.seats.map(({ server }) => limitsW.get(this.#typeOf(server))!)
  }

  #typeOf(server: number): string {
    return this.#running.pool.kinds[server]!.gpuType!
  }

  /**
   * Returns the started runs that must stop because even their minimum powers exceed the budget: the last ones in the
   * order.
   *
   * @param order jobs in the policy's order
   */
  overdrawn(order: readonly EngineJob[]): EngineJob[] {
    const { told } = this.#seated(order)
    let leftW = this.#leftBeside(told, this.forJobsW)
    const gone: EngineJob[] = []
    while (told.length > 0 && leftW < 0) {
      const last = told.pop()!
      leftW += this.minOf(last)
      gone.push(last)
    }
    return gone
  }

  /** Returns the first starting or moving job for which no watts are left, even after all stopping runs have exited. */
  firstRefused(order: readonly EngineJob[]): EngineJob | undefined {
    const { told, fresh } = this.#seated(order)
    return fresh[this.#affordable(fresh, this.#leftBeside(told, this.forJobsW))]
  }

  /**
   * Returns the starting and moving jobs that must wait until stopping runs have exited. No job overtakes an earlier one that
   * must wait for watts, or for the exit of its own previous run.
   */
  mustWait(order: readonly EngineJob[]): EngineJob[] {
    const { told, fresh } = this.#seated(order)
    const own = fresh.findIndex((job) => this.#leaving.has(job))
    const count = this.#affordable(fresh, this.#leftBeside(told, this.forJobsW - this.#leavingW))
    return fresh.slice(own < 0 ? count : Math.min(own, count))
  }

  /** Distributes the budget among running jobs. If new jobs can still move, several prices of a watt are tried. */
  settle(order: readonly EngineJob[], mechanism: Mechanism): void {
    const { told, fresh } = this.#seated(order)
    const active = [...told, ...fresh]
    const sharing = this.#running.options.mechanism === 'tune' && fresh.length > 0 && Number.isFinite(this.forJobsW)
    if (sharing) this.#tryPrices(active, fresh, mechanism)
    const ways = active.map((job) => this.#waysOf(job))
    const { chosen } = this.#choose(active, ways)
    active.forEach((job, i) => {
      const way = ways[i]![chosen[i]!]!
      this.#ways.set(job, way)
      this.#running.feed(job, { ...job.share, throughput: way.throughput })
    })
  }

  /** Divides the running jobs into `told`, which already run on their seats, and `fresh`, which must start or move. */
  #seated(order: readonly EngineJob[]): { told: EngineJob[]; fresh: EngineJob[] } {
    const seated = order.filter(({ state }) => state === 'running')
    const isTold = (job: EngineJob) => this.#told.isInPlace(job)
    return { told: seated.filter(isTold), fresh: seated.filter((job) => !isTold(job)) }
  }

  /** Watts that are left if these runs draw their minimum. */
  #leftBeside(told: readonly EngineJob[], watts: number): number {
    return told.reduce((leftW, job) => leftW - this.minOf(job), watts + ROUNDING_W)
  }

  /** Returns how many of the jobs, from the first on, can run with these watts. */
  #affordable(jobs: readonly EngineJob[], watts: number): number {
    let leftW = watts
    const refused = jobs.findIndex((job) => {
      leftW -= this.minOf(job)
      return leftW < 0
    })
    return refused < 0 ? jobs.length : refused
  }

  #tryPrices(active: readonly EngineJob[], newcomers: readonly EngineJob[], mechanism: Mechanism) {
    const [rules, running] = [this.#rules, this.#running]
    let best: { readonly gain: number; readonly restore: () => void } | null = null
    let [price, low, high] = [0, 0, Number.POSITIVE_INFINITY]
    for (let tries = 0; tries < PRICES_TRIED; tries++) {
      if (tries > 0) {
        rules.setPrice(price)
        for (const job of newcomers) running.starve(job)
        running.touchServers()
        mechanism.settle()
      }
      const all = active.map((job) => this.#waysOf(job))
      const minW = all.reduce((sum, ways) => sum + ways[0]!.watts, 0)
      const share = this.#choose(active, all)
      const isEnough = minW <= this.forJobsW - this.#leavingW + ROUNDING_W
      if (isEnough && (best === null || share.gain > best.gain + 1e-12)) {
        best = { gain: share.gain, restore: this.#remember(active) }
      }
      if (share.price === 0 && isEnough) high = price
      else low = price
      if (tries === 0 && share.price === 0) break
      price = high === Number.POSITIVE_INFINITY ? Math.max(share.price, 2 * low) : (low + high) / 2
    }
    best?.restore()
    rules.setPrice(0)
  }

  #remember(jobs: readonly EngineJob[]): () => void {
    const before = jobs.map((job) => ({ job, server: job.server, share: { ...job.share, throughput: 1 } }))
    return () => {
      const moved = before.filter(({ job, server }) => server >= 0 && job.server !== server)
      for (const { job } of moved) this.#running.starve(job)
      this.#running.reseat(moved.map(({ job, server }) => [job, server]))
      // All jobs release their shares first, so that no job is limited by a share that another one gives up.
      for (const { job, share } of before) this.#running.feed(job, share)
      this.#running.takeChanged()
    }
  }

  #choose(jobs: readonly EngineJob[], ways: readonly (readonly PowerWay[])[]): WattShares {
    const freeW = this.forJobsW - this.#leavingW
    if (this.#running.options.mechanism === 'fair') {
      const perGpuW = this.forJobsW / this.#running.totals.gpus
      const chosen = ways.map((own, i) => {
        const affordable = own.findLastIndex(({ watts }) => watts <= perGpuW * jobs[i]!.gpus + ROUNDING_W)
        return Math.max(0, affordable)
      })
      const sumW = chosen.reduce((sum, way, i) => sum + ways[i]![way]!.watts, 0)
      // Proportional shares may exceed the budget: stopping jobs still draw power, or a job's minimum is above its
      // share.
      if (sumW <= freeW + ROUNDING_W) return { chosen, gain: 0, price: 0 }
    }
    return shareWatts(ways, freeW)
  }

  /** Operating points of a job on its seats. If limits cannot change, a run that goes on has only its current one. */
  #waysOf(job: EngineJob): readonly PowerWay[] {
    const seats = job.placement!.map(({ server, gpus }) => ({ gpuType: this.#typeOf(server), gpus }))
    const isFixed = !this.#running.options.limitsChange && this.#told.isInPlace(job)
    const limitsW = isFixed ? this.#ways.get(job)?.limitsW : undefined
    return powerWays(job.profile, seats, job.share.cpus, job.share.memoryGb, limitsW)
  }
}

/** Minimum power of a job on a type of GPU, W. */
function minOn({ gpus, profile }: EngineJob, gpuType: string): number {
  const points = profile.gpus!.filter((point) => point.gpuType === gpuType)
  return gpus * Math.min(...points.map(({ dynamicPowerW }) => dynamicPowerW))
}

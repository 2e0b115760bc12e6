import { countGpus, idleWattsOf } from '../cluster/cluster.js'
import type { ActionRecord, PowerLimits } from '../engine/action-record.js'
import type { EngineEvent } from '../engine/engine-event.js'
import type { EngineJob } from '../engine/engine-job.js'
import type { RunningJobs } from '../engine/running-jobs.js'
import type { Mechanism } from '../mechanisms/mechanism.js'
import type { ShareRules } from '../mechanisms/share-rules.js'
import { PowerBudget } from './power-budget.js'
import { type PowerWay, powerWays, wayUnder } from './power-ways.js'
import { shareWatts } from './share-watts.js'

/** Number of times that seats and cores are reassigned, each time with the price of a watt that the last try gave. */
const PRICES_TRIED = 6
const ROUNDING_W = 1e-9

/** A run that was told to stop: it draws power until it exits. */
interface Leaving {
  readonly run: number
  readonly servers: readonly number[]
  readonly watts: number
}

/**
 * Treats power as a resource of the whole cluster. Each plan distributes among running jobs what stopping jobs do not
 * draw. Jobs that get no watts wait. A job whose watts are still drawn by stopping jobs keeps its seat and starts when
 * these have exited.
 */
export class PowerShares implements PowerLimits {
  readonly #running: RunningJobs
  readonly #rules: ShareRules
  readonly budget: PowerBudget
  readonly #idleW: number
  readonly #told: ActionRecord
  readonly #leaving = new Map<EngineJob, Leaving>()
  /** Operating point of each started run. */
  readonly #ways = new Map<EngineJob, PowerWay>()
  readonly #pending = new Set<EngineJob>()
  #energyJ = 0
  #countedS: number

  /** @throws InvalidInputError for a budget below the GPUs' idle power */
  constructor(running: RunningJobs, rules: ShareRules, told: ActionRecord) {
    const { cluster, powerBudgetW, budgetLeadS } = running.options
    this.#running = running
    this.#rules = rules
    this.#idleW = idleWattsOf(cluster)
    this.budget = new PowerBudget(powerBudgetW!, budgetLeadS, this.#idleW)
    this.#told = told
    this.#countedS = running.nowS
  }

  /** Current power according to the profiles, idle GPUs included, W. */
  get powerW(): number {
    return this.#idleW + this.#jobsW
  }

  get #jobsW(): number {
    let watts = this.#leavingW
    for (const way of this.#ways.values()) watts += way.watts
    return watts
  }

  /** Energy since the start, above idle, J. */
  get energyJ(): number {
    return this.#energyJ
  }

  get anyLeaving(): boolean {
    return this.#leaving.size > 0
  }

  advance(toS: number): void {
    this.#energyJ += (toS - this.#countedS) * this.#jobsW
    this.#countedS = toS
  }

  /** Minimum power of a job, W. */
  minOf(job: EngineJob): number {
    const { servers } = this.#running.options.cluster
    const points = job.profile.gpus!.filter((point) => servers.some(({ gpuType }) => gpuType === point.gpuType))
    return job.gpus * Math.min(...points.map(({ dynamicPowerW }) => dynamicPowerW))
  }

  get forJobsW(): number {
    return this.budget.forJobsW(this.#running.nowS)
  }

  /** Update from an event. @param inside the engine's server numbers */
  take(event: EngineEvent, inside: readonly number[]): void {
    if (event.type === 'budget') this.budget.tell(event.powerBudgetW, event.fromS ?? this.#running.nowS)
    if (event.type === 'finished' || event.type === 'stopped' || event.type === 'left') {
      const job = this.#running.find(event.jobId)!
      if (event.type !== 'left') this.#ways.delete(job)
      if (event.type !== 'left' || this.#leaving.get(job)?.run === event.run) this.#leaving.delete(job)
    }
    if (event.type === 'server-failed') {
      for (const [job, { servers }] of this.#leaving) {
        if (servers.includes(inside[event.server]!)) this.#leaving.delete(job)
      }
    }
  }

  /** A run is told to stop; a lost run draws no more power. */
  dismissed(job: EngineJob, servers: readonly number[], isLost: boolean): void {
    const way = this.#ways.get(job)
    this.#ways.delete(job)
    if (!isLost && way !== undefined) this.#leaving.set(job, { run: job.runs, servers, watts: way.watts })
  }

  isPending(job: EngineJob): boolean {
    return this.#pending.has(job)
  }

  limitsOf(job: EngineJob): readonly number[] | undefined {
    return this.#ways.get(job)?.powerLimitsW
  }

  /**
   * Returns the started runs that exceed the budget even at minimum power; the last ones in the order are chosen.
   *
   * @param order jobs in the policy's order
   */
  overdrawn(order: readonly EngineJob[]): EngineJob[] {
    const told = order.filter((job) => isRunning(job) && this.#told.hasTold(job))
    let sumW = told.reduce((sum, job) => sum + this.#minW(job), 0)
    const gone: EngineJob[] = []
    while (told.length > 0 && sumW > this.forJobsW + ROUNDING_W) {
      const last = told.pop()!
      sumW -= this.#minW(last)
      gone.push(last)
    }
    return gone
  }

  /**
   * Distribute the budget among running jobs. Several prices of a watt are tried; newly seated jobs may get other seats
   * if one of them gives more throughput.
   *
   * @returns seated jobs that get no watts and must wait
   */
  settle(order: readonly EngineJob[], mechanism: Mechanism): EngineJob[] {
    const refused = this.#admit(order)
    if (refused.length > 0) return refused
    const active = this.#active(order)
    const newcomers = active.filter((job) => !this.#told.hasTold(job))
    const sharing = this.#running.options.mechanism === 'tune' && newcomers.length > 0 && Number.isFinite(this.forJobsW)
    if (sharing) this.#tryPrices(active, newcomers, mechanism)
    const ways = active.map((job) => this.#waysOf(job))
    const chosen = this.#choose(active, ways).chosen
    active.forEach((job, i) => {
      const way = ways[i]![chosen[i]!]!
      if (this.#pending.delete(job)) this.#running.begin(job, job.runs === 0)
      this.#ways.set(job, way)
      const { cpusPerGpu: cpus, memoryGbPerGpu: memoryGb } = job
      this.#running.feed(job, { cpus, memoryGb, throughput: way.throughput })
    })
    for (const job of order) {
      if (!isRunning(job) || active.includes(job)) continue
      this.#pending.add(job)
      this.#running.starve(job)
    }
    for (const job of this.#pending) if (!isRunning(job)) this.#pending.delete(job)
    return []
  }

  get #leavingW(): number {
    let watts = 0
    for (const leaving of this.#leaving.values()) watts += leaving.watts
    return watts
  }

  /** Seated jobs that get no watts even after all stopping jobs have exited. */
  #admit(order: readonly EngineJob[]): EngineJob[] {
    let leftW = this.forJobsW + ROUNDING_W
    const seated = order.filter(isRunning)
    for (const job of seated) if (this.#told.hasTold(job)) leftW -= this.#minW(job)
    const refused: EngineJob[] = []
    for (const job of seated) {
      if (this.#told.hasTold(job)) continue
      const minW = this.#minW(job)
      if (minW > leftW) refused.push(job)
      else leftW -= minW
    }
    return refused
  }

  /**
   * Returns the jobs that may draw power now: in policy order, as many as the budget allows beside stopping jobs. No
   * job overtakes an earlier one that must wait.
   */
  #active(order: readonly EngineJob[]): EngineJob[] {
    const seated = order.filter(isRunning)
    const active = seated.filter((job) => this.#told.hasTold(job))
    let leftW = this.forJobsW - this.#leavingW + ROUNDING_W
    for (const job of active) leftW -= this.#minW(job)
    for (const job of seated) {
      if (this.#told.hasTold(job)) continue
      // The job's previous run must exit first.
      const needW = this.#leaving.has(job) ? Number.POSITIVE_INFINITY : this.#minW(job)
      if (needW > leftW) break
      leftW -= needW
      active.push(job)
    }
    return active
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
    const seats = jobs.map((job) => [job, job.server] as const)
    const shares = jobs.map(
      (job) => [job, { cpus: job.cpusPerGpu, memoryGb: job.memoryGbPerGpu, throughput: 1 }] as const,
    )
    return () => {
      this.#running.reseat(seats.filter(([job, server]) => server >= 0 && job.server !== server))
      // All jobs release their shares first, so that no job is limited by a share that another one gives up.
      for (const [job, share] of shares) this.#running.feed(job, share)
      this.#running.takeChanged()
    }
  }

  #choose(jobs: readonly EngineJob[], ways: readonly (readonly PowerWay[])[]) {
    const { mechanism, cluster } = this.#running.options
    if (mechanism === 'fair') {
      const perGpuW = this.forJobsW / countGpus(cluster)
      const chosen = ways.map((own, i) => {
        const affordable = own.findLastIndex(({ watts }) => watts <= perGpuW * jobs[i]!.gpus + ROUNDING_W)
        return Math.max(0, affordable)
      })
      const sumW = chosen.reduce((sum, way, i) => sum + ways[i]![way]!.watts, 0)
      // Proportional shares may exceed the budget: stopping jobs still draw power, or a job's minimum is above its
      // share.
      if (sumW <= this.forJobsW - this.#leavingW + ROUNDING_W) return { chosen, gain: 0, price: 0 }
    }
    return shareWatts(
      ways.map((own) => own.map(({ watts, throughput }) => ({ watts, gain: throughput }))),
      this.forJobsW - this.#leavingW,
    )
  }

  /** Minimum power of a job on its seats, W. */
  #minW(job: EngineJob): number {
    return this.#waysOf(job)[0]!.watts
  }

  /** Operating points of a job on its seats. If limits cannot change, a started run has only its current one. */
  #waysOf(job: EngineJob): readonly PowerWay[] {
    const told = this.#ways.get(job)
    const { servers, gpus } = job.placement!
    const seats = servers.map((server, i) => ({ gpuType: this.#running.pool.kinds[server]!.gpuType!, gpus: gpus[i]! }))
    if (told === undefined || this.#running.options.limitsChange) {
      return powerWays(job.profile, seats, job.cpusPerGpu, job.memoryGbPerGpu)
    }
    return [wayUnder(job.profile, seats, told, job.cpusPerGpu, job.memoryGbPerGpu)]
  }
}

function isRunning({ state }: EngineJob): boolean {
  return state === 'running'
}

import { IndexedHeap } from '@pctodl/numerics'
import type { ServerKind } from '../cluster/cluster.js'
import { FINISHED, type JobTable, RUNNING, totals, WAITING } from './job-table.js'
import type { CheckedEngineOptions } from './scheduling-options.js'
import { type Placement, ServerPool } from './server-pool.js'
import { UsageRecord } from './usage-record.js'

/** Starts, stops and feeds jobs, and keeps the books: who sits where, what is held, when each will finish. */
export class RunningJobs {
  readonly table: JobTable
  readonly pool: ServerPool
  readonly usage: UsageRecord
  readonly finishing: IndexedHeap
  nowS: number
  /** What jobs need to start beside GPUs; null where nothing. */
  watts: { readonly forJobsW: number; leastOf(job: number): number } | null = null
  /** Held on each server. */
  readonly heldCpus: Float64Array
  readonly heldMemoryGb: Float64Array
  /** What the jobs on each server would like to have. */
  readonly wantedCpus: Float64Array
  readonly wantedMemoryGb: Float64Array
  /** Servers whose jobs changed since `takeChanged`. */
  readonly #changed = new Set<number>()
  /** Jobs whose place or share changed since `takeTouched`. */
  #touched = new Set<number>()
  readonly #options: CheckedEngineOptions

  constructor(options: CheckedEngineOptions, table: JobTable, startS: number) {
    this.#options = options
    this.table = table
    this.pool = new ServerPool(options.cluster)
    this.usage = new UsageRecord(totals(options.cluster), startS, options.roundS)
    this.finishing = new IndexedHeap()
    this.nowS = startS
    const perServer = () => new Float64Array(this.pool.kinds.length)
    this.heldCpus = perServer()
    this.heldMemoryGb = perServer()
    this.wantedCpus = perServer()
    this.wantedMemoryGb = perServer()
  }

  advance(toS: number): void {
    this.usage.advance(toS)
    this.nowS = toS
  }

  /** How many times slower a job is on several servers. */
  spreadPenaltyOf(job: number): number {
    const { spreadPenalty } = this.#options.profiles[this.table.profileOf[job]!]!
    return Math.max(spreadPenalty, this.#options.spreadPenalty)
  }

  /** Whether being on several servers costs any job anything. */
  get spreadingCosts(): boolean {
    const { spreadPenalty, profiles } = this.#options
    return spreadPenalty > 1 || profiles.some((profile) => profile.spreadPenalty > 1)
  }

  get restartCostS(): number {
    return this.#options.restartCostS
  }

  get resizeCostS(): number {
    return this.#options.resizeCostS
  }

  /** A running job makes no progress for a while. */
  hold(job: number, forS: number): void {
    const { table, nowS } = this
    table.count(job, nowS)
    table.countedS[job] = Math.max(table.countedS[job]!, nowS) + forS
    this.finishing.set(job, table.countedS[job]! + table.remaining[job]! / table.rate[job]!)
  }

  /** Who was seated and has not begun makes no progress until it is fed; it may still change its seat. */
  starve(job: number): void {
    this.table.count(job, this.nowS)
    this.table.rate[job] = 0
    this.finishing.remove(job)
  }

  /** A seated job begins only now. */
  begin(job: number, isFirst: boolean): void {
    this.starve(job)
    this.table.countedS[job] = this.nowS + (isFirst ? this.#options.startCostS : this.#options.restartCostS)
  }

  /** A job was seated by the plan that is being made, and waits after all: it never was. */
  unseat(job: number, wasStarted: boolean, lastRunS: number): void {
    this.preempt(job)
    this.table.lastRunS[job] = lastRunS
    if (wasStarted) this.table.restarts[job]!--
    else this.table.firstStartS[job] = -1
  }

  /** Let the shares of all servers be chosen anew. */
  touchServers(): void {
    for (let server = 0; server < this.pool.kinds.length; server++) this.#changed.add(server)
  }

  /** Let a running job go on elsewhere, on GPUs that are free: it pays a restart. */
  move(job: number, placement: Placement): void {
    this.preempt(job)
    placement.servers.forEach((server, i) => {
      this.pool.take(server, placement.gpus[i]!)
    })
    this.start(job, placement)
  }

  placementOf(job: number): Placement {
    const server = this.table.server[job]!
    return server >= 0 ? { servers: [server], gpus: [this.table.gpus[job]!] } : this.table.spread.get(job)!
  }

  /** Seat a job on GPUs that were taken for it. It makes no progress before it is fed. */
  start(job: number, placement: Placement): void {
    const { table, nowS } = this
    this.#touched.add(job)
    this.#seat(job, placement)
    table.savedRemaining[job] = table.remaining[job]!
    table.state[job] = RUNNING
    table.waitedS[job]! += nowS - table.heldSinceS[job]!
    table.heldSinceS[job] = nowS
    if (table.firstStartS[job]! < 0) {
      table.firstStartS[job] = nowS
      table.countedS[job] = nowS + this.#options.startCostS
    } else {
      table.restarts[job]!++
      table.countedS[job] = nowS + this.#options.restartCostS
    }
    this.usage.waiting--
  }

  /** Seat a job that has been running there: it owes no start. */
  adopt(job: number, placement: Placement): void {
    this.start(job, placement)
    this.table.countedS[job] = this.nowS
  }

  /** Take a job's GPUs away. */
  preempt(job: number): void {
    this.#leave(job)
    this.table.state[job] = WAITING
    this.table.lastRunS[job] = this.nowS
    this.finishing.remove(job)
    this.usage.waiting++
  }

  finish(job: number): void {
    this.#leave(job)
    this.table.state[job] = FINISHED
    this.table.remaining[job] = 0
    this.table.finishS[job] = this.nowS
    this.finishing.remove(job)
  }

  /** Give a running job CPU and memory beside each of its GPUs. */
  feed(job: number, cpusPerGpu: number, memoryGbPerGpu: number, throughput: number): void {
    const { table } = this
    if (
      table.rate[job]! > 0 &&
      table.cpusPerGpu[job] === cpusPerGpu &&
      table.memoryGbPerGpu[job] === memoryGbPerGpu &&
      table.throughput[job] === throughput
    ) {
      return
    }
    this.#touched.add(job)
    table.count(job, this.nowS)
    this.#hold(job, cpusPerGpu - table.cpusPerGpu[job]!, memoryGbPerGpu - table.memoryGbPerGpu[job]!)
    table.cpusPerGpu[job] = cpusPerGpu
    table.memoryGbPerGpu[job] = memoryGbPerGpu
    table.throughput[job] = throughput
    const penalty = table.server[job]! >= 0 ? 1 : this.spreadPenaltyOf(job)
    table.rate[job] = throughput / (table.iterationS[job]! * penalty)
    this.finishing.set(job, Math.max(this.nowS, table.countedS[job]!) + table.remaining[job]! / table.rate[job]!)
  }

  /** Let jobs that have just started on one server each change their places, all at once. */
  reseat(moves: readonly (readonly [job: number, to: number])[]): void {
    const { table, pool } = this
    for (const [job] of moves) {
      const from = table.server[job]!
      pool.remove(job, from)
      this.#want(job, from, -1)
      this.#changed.add(from)
    }
    for (const [job, to] of moves) {
      pool.take(to, table.gpus[job]!)
      pool.seat(job, to, table.gpus[job]!)
      table.server[job] = to
      this.#want(job, to, 1)
      this.#changed.add(to)
    }
  }

  #want(job: number, server: number, sign: 1 | -1): void {
    const { demand } = this.#options.profiles[this.table.profileOf[job]!]!
    const gpus = sign * this.table.gpus[job]!
    this.wantedCpus[server]! += demand.cpus * gpus
    this.wantedMemoryGb[server]! += demand.memoryGb * gpus
  }

  /** A job that was stopped and started on the same seats at the same moment never stopped: it owes no restart. */
  undoRestart(job: number, restarts: number, countedS: number): void {
    const { table, nowS } = this
    table.restarts[job] = restarts
    table.countedS[job] = Math.max(countedS, nowS)
    this.finishing.set(job, table.countedS[job]! + table.remaining[job]! / table.rate[job]!)
  }

  /** In the order in which they were first touched. */
  takeTouched(): Set<number> {
    const touched = this.#touched
    this.#touched = new Set()
    return touched
  }

  /** A job has done so much, whatever was reckoned. */
  setDone(job: number, doneIterations: number): void {
    const { table, nowS } = this
    table.remaining[job] = Math.max(0, table.jobs[job]!.iterations - doneIterations)
    if (table.state[job] !== RUNNING) return
    table.countedS[job] = Math.max(table.countedS[job]!, nowS)
    if (table.rate[job]! > 0) this.finishing.set(job, table.countedS[job]! + table.remaining[job]! / table.rate[job]!)
  }

  /** What jobs may have of a server. Who is in the way is preempted, the last submitted first. @returns those */
  resizeServer(server: number, kind: ServerKind): number[] {
    const { pool } = this
    const residents = [...pool.residents[server]!].sort((a, b) => b - a)
    const evicted: number[] = []
    let held = pool.kinds[server]!.gpus - pool.freeGpus[server]!
    for (const job of residents) {
      if (held <= kind.gpus) break
      held -= pool.residentGpus[server]![pool.residents[server]!.indexOf(job)]!
      this.preempt(job)
      evicted.push(job)
    }
    pool.resize(server, kind)
    this.#changed.add(server)
    return evicted
  }

  takeChanged(): number[] {
    const changed = [...this.#changed]
    this.#changed.clear()
    return changed
  }

  get anyChanged(): boolean {
    return this.#changed.size > 0
  }

  #seat(job: number, { servers, gpus }: Placement): void {
    const { table, pool, usage } = this
    const { demand } = this.#options.profiles[table.profileOf[job]!]!
    for (let i = 0; i < servers.length; i++) {
      const server = servers[i]!
      pool.seat(job, server, gpus[i]!)
      this.wantedCpus[server]! += gpus[i]! * demand.cpus
      this.wantedMemoryGb[server]! += gpus[i]! * demand.memoryGb
      this.#changed.add(server)
    }
    usage.heldGpus += table.gpus[job]!
    if (servers.length === 1) {
      table.server[job] = servers[0]!
    } else {
      table.server[job] = -1
      table.spread.set(job, { servers, gpus })
      usage.spreadGpus += table.gpus[job]!
    }
  }

  #leave(job: number): void {
    const { table, pool, usage } = this
    this.#touched.add(job)
    table.count(job, this.nowS)
    this.#hold(job, -table.cpusPerGpu[job]!, -table.memoryGbPerGpu[job]!)
    table.cpusPerGpu[job] = 0
    table.memoryGbPerGpu[job] = 0
    table.rate[job] = 0
    const { demand } = this.#options.profiles[table.profileOf[job]!]!
    const { servers, gpus } = this.placementOf(job)
    for (let i = 0; i < servers.length; i++) {
      const server = servers[i]!
      pool.remove(job, server)
      this.wantedCpus[server]! -= gpus[i]! * demand.cpus
      this.wantedMemoryGb[server]! -= gpus[i]! * demand.memoryGb
      // An empty server forgets the rounding errors of all who were there.
      if (pool.residents[server]!.length === 0) {
        this.wantedCpus[server] = 0
        this.wantedMemoryGb[server] = 0
        this.heldCpus[server] = 0
        this.heldMemoryGb[server] = 0
      }
      this.#changed.add(server)
    }
    usage.heldGpus -= table.gpus[job]!
    if (table.server[job]! < 0) {
      table.spread.delete(job)
      usage.spreadGpus -= table.gpus[job]!
    }
    table.server[job] = -1
  }

  #hold(job: number, moreCpusPerGpu: number, moreMemoryGbPerGpu: number): void {
    const { table, usage } = this
    const server = table.server[job]!
    const gpus = table.gpus[job]!
    usage.heldCpus += moreCpusPerGpu * gpus
    usage.heldMemoryGb += moreMemoryGbPerGpu * gpus
    if (server >= 0) {
      this.heldCpus[server]! += moreCpusPerGpu * gpus
      this.heldMemoryGb[server]! += moreMemoryGbPerGpu * gpus
      return
    }
    const placement = table.spread.get(job)!
    for (let i = 0; i < placement.servers.length; i++) {
      this.heldCpus[placement.servers[i]!]! += moreCpusPerGpu * placement.gpus[i]!
      this.heldMemoryGb[placement.servers[i]!]! += moreMemoryGbPerGpu * placement.gpus[i]!
    }
  }
}

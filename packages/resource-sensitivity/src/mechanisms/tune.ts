import type { EngineJob } from '../engine/engine-job.js'
import type { RunningJobs } from '../engine/running-jobs.js'
import { type AllocationOption, allocatedThroughput, allocateServer, type Resident } from './allocation.js'
import { WholeGpuMechanism } from './mechanism.js'

const ROUNDING = 1e-9

/** Number of unchanged servers examined as seats of new jobs, for each number of free GPUs. */
const MAX_OPEN = 4

interface Allocation {
  readonly choice: readonly AllocationOption[]
  readonly value: number
}

/**
 * Gives every job at least the throughput of its GPU-proportional share, and the spare resources to the jobs that gain
 * most. Jobs on several servers come last. Their GPUs run in lockstep and need equal shares, so they get what all their
 * servers have left.
 */
export class TuneMechanism extends WholeGpuMechanism {
  /** Allocations of the current plan by server kind and jobs: trying seats meets the same few combinations again. */
  readonly #known = new Map<string, Allocation>()

  settle(): void {
    const { running } = this
    this.#known.clear()
    const changed = running.takeChanged()
    const spread = new Set<EngineJob>()
    // Jobs may be seated on these servers, too, so no share there may be a raised one.
    const open = running.pool.someWithFree(MAX_OPEN).filter((server) => !changed.includes(server))
    for (const server of [...changed, ...open]) {
      for (const job of running.pool.residents[server]!) if (job.server < 0) spread.add(job)
    }
    for (const job of spread) this.running.feed(job, this.rules.options(job).options[0]!)
    improveSeats(running, [...changed, ...open], (server) => this.#allocation(server, this.#wholeOn(server)).value)
    for (const server of new Set([...changed, ...running.takeChanged()])) this.#settle(server)
    // If resizing costs time, jobs on several servers keep the share that is always available.
    if (running.options.resizeCostS === 0) for (const job of spread) this.#raise(job)
  }

  /** Distributes the resources of a server among its single-server jobs; jobs on several servers keep their shares. */
  #settle(server: number): void {
    const whole = this.#wholeOn(server)
    if (whole.length === 0) return
    const { choice } = this.#allocation(server, whole)
    whole.forEach((job, i) => {
      this.running.feed(job, choice[i]!)
    })
  }

  /** Single-server jobs on this server, in class order. */
  #wholeOn(server: number): EngineJob[] {
    const whole = this.running.pool.residents[server]!.filter((job) => job.server === server)
    return whole.sort((a, b) => a.kind.number - b.kind.number || a.index - b.index)
  }

  /** Best allocation found for these jobs, with the resources that the server's spread jobs leave. */
  #allocation(server: number, whole: readonly EngineJob[]): Allocation {
    const { pool } = this.running
    let { cpus, memoryGb } = pool.kinds[server]!
    for (const job of pool.residents[server]!) {
      if (job.server === server) continue
      cpus -= job.share.cpus * pool.gpusOn(job, server)
      memoryGb -= job.share.memoryGb * pool.gpusOn(job, server)
    }
    const fair = this.rules.fair[server]!
    let key = `${cpus}/${memoryGb}/${fair.cpus}/${fair.memoryGb}/${fair.gpuTypes?.[0] ?? ''}/${this.rules.price}`
    for (const job of whole) key += `:${job.kind.number}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const jobs = whole.map((job): Resident => ({ gpus: job.gpus, options: this.rules.options(job, fair).options }))
    const choice = allocateServer(jobs, cpus, memoryGb)
    const value = allocatedThroughput(jobs, choice)
    const allocation = { choice: choice.map((k, i) => jobs[i]!.options[k]!), value }
    this.#known.set(key, allocation)
    return allocation
  }

  /** Gives a spread job the fastest option for which all its servers have enough left. */
  #raise(job: EngineJob): void {
    const { pool, loads } = this.running
    let cpus = Number.POSITIVE_INFINITY
    let memoryGb = Number.POSITIVE_INFINITY
    for (const { server, gpus } of job.placement!) {
      const [kind, load] = [pool.kinds[server]!, loads[server]!]
      cpus = Math.min(cpus, job.share.cpus + (kind.cpus - load.heldCpus) / gpus)
      memoryGb = Math.min(memoryGb, job.share.memoryGb + (kind.memoryGb - load.heldMemoryGb) / gpus)
    }
    const [, ...faster] = this.rules.options(job).options
    const best = faster.findLast((option) => option.cpus <= cpus + ROUNDING && option.memoryGb <= memoryGb + ROUNDING)
    if (best !== undefined) this.running.feed(job, best)
  }
}

/** Limits per plan: placement changes tried (`MAX_TRIES`), and pairs of a job and a server examined (`MAX_PAIRS`). */
const MAX_TRIES = 1000
const MAX_PAIRS = 4000

/** Maximum number of jobs of one server that trade places together with one job of another. */
const MAX_TOGETHER = 4

/**
 * Moves newly seated jobs as long as this raises the total throughput of the servers. Two jobs of equal size trade
 * places, one moves to free GPUs, or one trades places with several smaller ones. Jobs that ran before stay where they
 * are.
 *
 * @param changed servers to examine
 * @param valueAt returns the highest total throughput of the jobs now on a server
 */
function improveSeats(running: RunningJobs, changed: readonly number[], valueAt: (server: number) => number): void {
  const { pool, watts } = running
  const isNew = (job: EngineJob) => job.server >= 0 && job.rate === 0 && !watts?.frugal.has(job)
  const newcomers = changed.flatMap((server) => pool.residents[server]!.filter(isNew))
  if (newcomers.length === 0) return
  let tries = 0
  let pairs = 0

  /** @returns whether the moves were kept */
  const attempt = (moves: readonly (readonly [job: EngineJob, to: number])[]): boolean => {
    tries++
    const servers = [...new Set(moves.flatMap(([job, to]) => [job.server, to]))]
    const value = () => servers.reduce((sum, server) => sum + valueAt(server), 0)
    const before = value()
    const back = moves.map(([job]) => [job, job.server] as const)
    running.reseat(moves)
    const isBetter = value() > before + ROUNDING
    if (!isBetter) running.reseat(back)
    return isBetter
  }

  for (let improved = true; improved; ) {
    improved = false
    for (const a of newcomers) {
      for (const other of changed) {
        const one = a.server
        if (one === other) continue
        if (++pairs > MAX_PAIRS) return
        const met = new Set<string>()
        for (const group of groupsFor(a, other)) {
          if (tries >= MAX_TRIES) return
          // Jobs of one class are interchangeable, so only the first group of the same classes is tried.
          const kind = group.map((job) => job.kind.number).join()
          if (met.has(kind) || (group.length === 1 && group[0]!.kind.number === a.kind.number)) continue
          met.add(kind)
          if (attempt([[a, other], ...group.map((job) => [job, one] as const)])) {
            improved = true
            break
          }
        }
      }
    }
    // Only under watts do moves over three servers gain.
    if (!improved && watts !== null) improved = makeRoom() || makeWay()
  }

  /** Gives one newcomer the place of another, which moves to free GPUs of a third server. */
  function makeRoom(): boolean {
    for (const a of newcomers) {
      for (const other of changed) {
        if (a.server === other) continue
        const met = new Set<number>()
        for (const b of [...pool.residents[other]!]) {
          if (!isNew(b) || pool.freeGpus[other]! + b.gpus < a.gpus || met.has(b.kind.number)) continue
          met.add(b.kind.number)
          for (const third of changed) {
            if (third === a.server || third === other || pool.freeGpus[third]! < b.gpus) continue
            if (tries >= MAX_TRIES) return false
            if (
              attempt([
                [a, other],
                [b, third],
              ])
            )
              return true
          }
        }
      }
    }
    return false
  }

  /** Moves a large newcomer off GPUs that two others then take, from any servers. The GPUs may be of a faster type. */
  function makeWay(): boolean {
    for (const a of newcomers) {
      const room = a.gpus + pool.freeGpus[a.server]!
      const others = newcomers.filter(({ server, gpus }) => server !== a.server && gpus < room)
      for (const to of changed) {
        for (const [i, b] of others.entries()) {
          for (const c of others.slice(i + 1)) {
            if (tries >= MAX_TRIES || ++pairs > MAX_PAIRS) return false
            const freed = [b, c].reduce((sum, { server, gpus }) => sum + (server === to ? gpus : 0), pool.freeGpus[to]!)
            if (to === a.server || b.gpus + c.gpus > room || freed < a.gpus) continue
            const here = a.server
            if (
              attempt([
                [a, to],
                [b, here],
                [c, here],
              ])
            )
              return true
          }
        }
      }
    }
    return false
  }

  /**
   * Groups of newcomers on another server that could trade places with a job. If GPUs are free there, the group may be
   * empty.
   */
  function groupsFor(a: EngineJob, other: number): EngineJob[][] {
    const size = a.gpus
    const freeHere = pool.freeGpus[a.server]!
    const freeThere = pool.freeGpus[other]!
    const others = pool.residents[other]!.filter((job) => isNew(job) && job.gpus <= size + freeHere)
    const groups: EngineJob[][] = []
    const extend = (from: number, group: EngineJob[], gpus: number): void => {
      if (gpus <= size + freeHere && size <= gpus + freeThere) groups.push([...group])
      if (group.length === MAX_TOGETHER) return
      for (let i = from; i < others.length; i++) {
        const more = gpus + others[i]!.gpus
        if (more <= size + freeHere) extend(i + 1, [...group, others[i]!], more)
      }
    }
    extend(0, [], 0)
    return groups
  }
}

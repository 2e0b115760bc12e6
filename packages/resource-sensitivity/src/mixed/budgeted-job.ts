import type { Job } from '../trace/job.js'
import type { LimitWay, SeatOption } from './seat-option.js'

/** Where a job sits, and with what. */
export interface Held {
  readonly server: number
  /** Numbers of GPUs of the server. */
  readonly gpus: readonly number[]
  readonly option: SeatOption
}

/** A place that a job waits for: who was in the way is leaving. */
export interface Intended {
  readonly server: number
  readonly option: SeatOption
}

/** One job of a `BudgetEngine`: what it holds and how far it is. `leaving` is who was told to stop and has not yet. */
export class BudgetedJob {
  readonly job: Job
  /** Iterations per second where it is fastest. */
  readonly fastest: number
  readonly byType: ReadonlyMap<string, readonly SeatOption[]>
  state: 'waiting' | 'running' | 'leaving' | 'done' = 'waiting'
  held: Held | null = null
  intended: Intended | null = null
  /** Counted from 1. */
  run = 0
  /** Which of the option's ways it runs in, and the limit that was last told. */
  way = 0
  toldLimitW = 0
  remaining: number
  /** What is left of it for whoever loses all but the last checkpoint. */
  savedRemaining: number
  /** Cancelled while it leaves: it does not wait again. */
  isCancelled = false
  firstStartS: number | null = null
  finishS: number | null = null
  attainedGpuS = 0
  /** Above idle, J. */
  energyJ = 0
  finishAtS: number = Number.POSITIVE_INFINITY
  /** Progress is counted up to here; later than now while it starts. */
  #countedS = 0
  #heldSinceS = 0
  #waitedS = 0
  #waitsSinceS: number

  constructor(job: Job, fastest: number, byType: ReadonlyMap<string, readonly SeatOption[]>) {
    this.job = job
    this.fastest = fastest
    this.byType = byType
    this.remaining = job.iterations
    this.savedRemaining = job.iterations
    this.#waitsSinceS = job.arrivalS
  }

  /** Without a place since it arrived, all times together, s. */
  waitedS(nowS: number): number {
    return this.#waitedS + (this.state === 'waiting' ? nowS - this.#waitsSinceS : 0)
  }

  /** Now: watts and rate. */
  get current(): LimitWay {
    return this.held!.option.ways[this.way]!
  }

  /** Above idle, W; a job that leaves draws until it has left. */
  get watts(): number {
    return this.held === null ? 0 : this.job.gpus * this.current.dynamicPowerW
  }

  start(held: Held, nowS: number, costS: number): void {
    this.#waitedS = this.waitedS(nowS)
    this.state = 'running'
    this.held = held
    this.intended = null
    this.run++
    this.way = 0
    this.firstStartS ??= nowS
    this.savedRemaining = this.remaining
    this.#countedS = nowS + costS
    this.#heldSinceS = nowS
  }

  /** Run under another limit from now on. */
  choose(way: number, nowS: number): void {
    this.count(nowS)
    this.way = way
    this.reckon(nowS)
  }

  /** Count progress, service and energy up to now. */
  count(nowS: number): void {
    if (this.held === null) return
    const heldForS = nowS - this.#heldSinceS
    this.attainedGpuS += (heldForS * this.job.gpus * this.held.option.sharePercent) / 100
    this.energyJ += heldForS * this.watts
    this.#heldSinceS = nowS
    if (this.state !== 'running' || nowS <= this.#countedS) return
    this.remaining = Math.max(0, this.remaining - (nowS - this.#countedS) * this.current.iterationsPerS)
    this.#countedS = nowS
  }

  /** When it will be done, as things are. */
  reckon(nowS: number): void {
    this.finishAtS = Math.max(nowS, this.#countedS) + this.remaining / this.current.iterationsPerS
  }

  /** It has done so much, whatever was reckoned: from now on it progresses. */
  setDone(doneIterations: number, nowS: number): void {
    this.remaining = Math.max(0, this.job.iterations - doneIterations)
    if (this.state !== 'running') return
    this.#countedS = Math.max(this.#countedS, nowS)
    this.reckon(nowS)
  }

  /** Told to stop: it makes no progress, and holds what it has until it has left. */
  leave(nowS: number): void {
    this.count(nowS)
    this.state = 'leaving'
    this.finishAtS = Number.POSITIVE_INFINITY
  }

  /** It holds nothing any more. */
  release(nowS: number, state: 'waiting' | 'done'): void {
    this.count(nowS)
    if (this.state !== 'waiting') this.#waitsSinceS = nowS
    this.state = state
    this.held = null
    this.finishAtS = Number.POSITIVE_INFINITY
    if (state === 'done') this.finishS = nowS
  }
}

import { type Cluster, expandServers, type ServerKind } from '../cluster/cluster.js'
import type { EngineJob, Placement } from './engine-job.js'

/** How many servers with equally many free GPUs are compared before one is chosen. */
const LOOK_AT = 32

/** Which GPUs are free where. Servers with equally many are kept together, so the best fit is found without a walk. */
export class ServerPool {
  readonly kinds: ServerKind[]
  readonly freeGpus: Int32Array
  readonly residents: readonly EngineJob[][]
  freeInTotal: number
  readonly #byFree: number[][]
  readonly #position: Int32Array

  constructor(cluster: Cluster) {
    this.kinds = expandServers(cluster)
    const most = Math.max(...cluster.servers.map(({ gpus }) => gpus))
    this.freeGpus = Int32Array.from(this.kinds, ({ gpus }) => gpus)
    this.residents = this.kinds.map(() => [])
    this.freeInTotal = this.freeGpus.reduce((sum, gpus) => sum + gpus, 0)
    this.#byFree = Array.from({ length: most + 1 }, () => [])
    this.#position = new Int32Array(this.kinds.length)
    // Backwards, so that of equal servers the first is found first.
    for (let s = this.kinds.length - 1; s >= 0; s--) this.#file(s)
  }

  /**
   * One server for all of a job's GPUs: of those with the fewest free GPUs that suffice, the one of least `score`.
   * `Infinity` refuses a server.
   *
   * @returns -1 where no server has the GPUs (or none is accepted)
   */
  bestFit(gpus: number, score: (server: number) => number = () => 0, lookAt: number = LOOK_AT): number {
    return this.#least(gpus, score, lookAt, true)
  }

  /**
   * One server for all of a job's GPUs: the one of least `score`, and of equals one with few free GPUs.
   *
   * @returns -1 where no server has the GPUs
   */
  minOf(gpus: number, score: (server: number) => number): number {
    return this.#least(gpus, score, LOOK_AT, false)
  }

  #least(gpus: number, score: (server: number) => number, lookAt: number, isFitting: boolean): number {
    let best = -1
    let bestScore = Number.POSITIVE_INFINITY
    for (let free = gpus; free < this.#byFree.length; free++) {
      const candidates = this.#byFree[free]!
      const stop = Math.max(0, candidates.length - lookAt)
      for (let i = candidates.length - 1; i >= stop; i--) {
        const value = score(candidates[i]!)
        if (value < bestScore) {
          best = candidates[i]!
          bestScore = value
        }
      }
      if (isFitting && best >= 0) return best
    }
    return best
  }

  /**
   * GPUs on several servers, few of them: the emptiest first, and the fitting one for the rest.
   *
   * @param room how many GPUs of the job a server could take at most, beside its free GPUs
   */
  spread(gpus: number, room: ((server: number) => number) | null): Placement | null {
    const servers: number[] = []
    const taken: number[] = []
    let missing = gpus
    for (let free = this.#byFree.length - 1; free >= 1 && missing > 0; free--) {
      if (missing < free && room === null) {
        const fitting = this.bestFit(
          missing,
          (server) => (servers.includes(server) ? Number.POSITIVE_INFINITY : 0),
          Number.POSITIVE_INFINITY,
        )
        if (fitting >= 0) {
          servers.push(fitting)
          taken.push(missing)
          missing = 0
          break
        }
      }
      const candidates = this.#byFree[free]!
      for (let i = candidates.length - 1; i >= 0 && missing > 0; i--) {
        const server = candidates[i]!
        const here = Math.min(free, missing, room === null ? free : room(server))
        if (here <= 0 || servers.includes(server)) continue
        servers.push(server)
        taken.push(here)
        missing -= here
      }
    }
    return missing > 0 ? null : { servers, gpus: taken }
  }

  /** Jobs may have more or less of a server from now on, none less than they hold. */
  resize(server: number, kind: ServerKind): void {
    this.#changeFree(server, kind.gpus - this.kinds[server]!.gpus)
    this.kinds[server] = kind
  }

  /** Servers with exactly so many free GPUs. */
  withFree(gpus: number): readonly number[] {
    return this.#byFree[gpus] ?? []
  }

  take(server: number, gpus: number): void {
    this.#changeFree(server, -gpus)
  }

  /** How many of a job's GPUs are on a server. */
  gpusOn({ placement }: EngineJob, server: number): number {
    return placement!.gpus[placement!.servers.indexOf(server)]!
  }

  /** Give back what a job has on a server. @returns how many GPUs */
  remove(job: EngineJob, server: number): number {
    this.residents[server]!.splice(this.residents[server]!.indexOf(job), 1)
    const gpus = this.gpusOn(job, server)
    this.#changeFree(server, gpus)
    return gpus
  }

  #changeFree(server: number, gpus: number): void {
    const candidates = this.#byFree[this.freeGpus[server]!]!
    const last = candidates.pop()!
    if (last !== server) {
      const at = this.#position[server]!
      candidates[at] = last
      this.#position[last] = at
    }
    this.freeGpus[server]! += gpus
    this.freeInTotal += gpus
    this.#file(server)
  }

  #file(server: number): void {
    const candidates = this.#byFree[this.freeGpus[server]!]!
    this.#position[server] = candidates.length
    candidates.push(server)
  }
}

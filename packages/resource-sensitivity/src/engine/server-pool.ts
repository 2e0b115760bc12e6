import { type Cluster, expandServers, type ServerKind } from '../cluster.js'
import type { EngineJob, Seat } from './engine-job.js'

/** Tracks the free GPUs of each server. Servers are grouped by free GPUs, so the best fit is found without a scan. */
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
    // The server filed last is found first. That is the one with the most cores, then memory, then the lowest number.
    const richestFirst = this.kinds.map((kind, server) => ({ ...kind, server }))
    richestFirst.sort((a, b) => b.cpus - a.cpus || b.memoryGb - a.memoryGb)
    for (const { server } of richestFirst.reverse()) this.#file(server)
  }

  /** The server with the fewest sufficient free GPUs, among those that `fits` accepts; -1 if there is none. */
  bestFit(gpus: number, fits: (server: number) => boolean = () => true): number {
    for (let free = gpus; free < this.#byFree.length; free++) {
      const server = this.#byFree[free]!.findLast(fits)
      if (server !== undefined) return server
    }
    return -1
  }

  /**
   * Places GPUs on as few servers as possible: the emptiest servers first, and the best fit for the rest.
   *
   * @param room returns for how many GPUs of the job a server has CPU and memory; null if that does not matter
   */
  spread(gpus: number, room: ((server: number) => number) | null): Seat[] | null {
    const seats: Seat[] = []
    let missing = gpus
    for (let free = this.#byFree.length - 1; free >= 1; free--) {
      if (missing < free && room === null) {
        const fitting = this.bestFit(missing, (other) => seats.every(({ server }) => server !== other))
        if (fitting >= 0) return [...seats, { server: fitting, gpus: missing }]
      }
      const candidates = this.#byFree[free]!
      for (let i = candidates.length - 1; i >= 0; i--) {
        const server = candidates[i]!
        const here = Math.min(free, missing, room === null ? free : room(server))
        if (here <= 0) continue
        seats.push({ server, gpus: here })
        missing -= here
        if (missing === 0) return seats
      }
    }
    return null
  }

  /** Sets the capacity of a server. It must not fall below what the server's jobs hold. */
  resize(server: number, kind: ServerKind): void {
    this.#changeFree(server, kind.gpus - this.kinds[server]!.gpus)
    this.kinds[server] = kind
  }

  /** Servers with exactly this number of free GPUs. */
  withFree(gpus: number): readonly number[] {
    return this.#byFree[gpus] ?? []
  }

  /** Returns up to `each` servers for every number of free GPUs above 0. */
  someWithFree(each: number): number[] {
    return this.#byFree.flatMap((servers, free) => (free === 0 ? [] : servers.slice(0, each)))
  }

  /** Seats a job on free GPUs of a server. */
  add(job: EngineJob, server: number, gpus: number): void {
    this.residents[server]!.push(job)
    this.#changeFree(server, -gpus)
  }

  gpusOn({ placement }: EngineJob, server: number): number {
    return placement!.find((seat) => seat.server === server)!.gpus
  }

  /** Releases a job's GPUs on a server. */
  remove(job: EngineJob, server: number): void {
    this.residents[server]!.splice(this.residents[server]!.indexOf(job), 1)
    this.#changeFree(server, this.gpusOn(job, server))
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

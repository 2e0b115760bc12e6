import type { MixedServerKind } from './mixed-cluster.js'

/** What a job takes of a server. */
export interface SeatSize {
  /** Whole GPUs where `sharePercent` is 100, else one. */
  readonly gpus: number
  readonly sharePercent: number
  /** For each GPU. */
  readonly cpus: number
  readonly memoryGb: number
}

/** A hair of rounding does not refuse a job. */
const ROUNDING = 1e-9

/** Which GPUs, parts of GPUs, cores and memory of each server are free. */
export class MixedSeats {
  /** What jobs may have of each server now. */
  readonly #left: { gpus: number; cpus: number; memoryGb: number }[]
  /** Of each GPU of each server, percent. */
  readonly #used: number[][]
  readonly #cpus: number[]
  readonly #memoryGb: number[]

  /** @param servers one by one */
  constructor(servers: readonly MixedServerKind[]) {
    this.#left = servers.map(({ gpus, cpus, memoryGb }) => ({ gpus, cpus, memoryGb }))
    this.#used = servers.map(({ gpus }) => new Array<number>(gpus).fill(0))
    this.#cpus = servers.map(() => 0)
    this.#memoryGb = servers.map(() => 0)
  }

  /** Jobs may have so much of a server from now on; who holds more must be told to leave. */
  resize(server: number, left: { readonly gpus: number; readonly cpus: number; readonly memoryGb: number }): void {
    this.#left[server] = left
  }

  /** Whether nobody holds what is not there. */
  isWithin(server: number): boolean {
    const left = this.#left[server]!
    return (
      this.#touched(server) <= left.gpus &&
      this.#cpus[server]! <= left.cpus * (1 + ROUNDING) &&
      this.#memoryGb[server]! <= left.memoryGb * (1 + ROUNDING)
    )
  }

  /** GPUs, in whole and in parts, that nobody has. */
  freeGpus(server: number): number {
    const used = this.#used[server]!.reduce((sum, percent) => sum + percent, 0) / 100
    return Math.max(0, this.#left[server]!.gpus - used)
  }

  freeCpus(server: number): number {
    return this.#left[server]!.cpus - this.#cpus[server]!
  }

  freeMemoryGb(server: number): number {
    return this.#left[server]!.memoryGb - this.#memoryGb[server]!
  }

  fits(server: number, size: SeatSize): boolean {
    const { gpus, cpus, memoryGb } = size
    return (
      gpus * cpus <= this.freeCpus(server) + ROUNDING * this.#left[server]!.cpus &&
      gpus * memoryGb <= this.freeMemoryGb(server) + ROUNDING * this.#left[server]!.memoryGb &&
      this.#find(server, size) !== null
    )
  }

  /** Take what fits. @returns which GPUs of the server */
  take(server: number, size: SeatSize): readonly number[] {
    const gpus = this.#find(server, size)!
    this.#hold(server, gpus, size, 1)
    return gpus
  }

  give(server: number, gpus: readonly number[], size: SeatSize): void {
    this.#hold(server, gpus, size, -1)
  }

  /** Take back what was given a moment ago. */
  takeAgain(server: number, gpus: readonly number[], size: SeatSize): void {
    this.#hold(server, gpus, size, 1)
  }

  #hold(server: number, gpus: readonly number[], size: SeatSize, sign: 1 | -1): void {
    for (const gpu of gpus) this.#used[server]![gpu]! += sign * size.sharePercent
    this.#cpus[server]! += sign * size.gpus * size.cpus
    this.#memoryGb[server]! += sign * size.gpus * size.memoryGb
    // An empty server forgets the rounding errors of all who were there.
    if (this.#touched(server) === 0) {
      this.#cpus[server] = 0
      this.#memoryGb[server] = 0
    }
  }

  #touched(server: number): number {
    return this.#used[server]!.filter((percent) => percent > 0).length
  }

  /** Parts fill up the GPU that is fullest already. */
  #find(server: number, { gpus, sharePercent }: SeatSize): number[] | null {
    const used = this.#used[server]!
    const untouched = this.#left[server]!.gpus - this.#touched(server)
    if (sharePercent < 100) {
      let best = -1
      used.forEach((percent, gpu) => {
        if (percent + sharePercent > 100 || (percent === 0 && untouched < 1)) return
        if (best < 0 || percent > used[best]!) best = gpu
      })
      return best < 0 ? null : [best]
    }
    if (untouched < gpus) return null
    const free = used.flatMap((percent, gpu) => (percent === 0 ? [gpu] : []))
    return free.length < gpus ? null : free.slice(0, gpus)
  }
}

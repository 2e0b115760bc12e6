import type { ServerKind } from '../cluster/cluster.js'

/** Which servers accept jobs: those that neither failed nor drain. */
export class ServerAvailability {
  readonly #kinds: readonly ServerKind[]
  readonly #failed = new Set<number>()
  readonly #draining = new Set<number>()

  /** @param kinds the kind of each server */
  constructor(kinds: readonly ServerKind[]) {
    this.#kinds = kinds
  }

  fail(server: number): boolean {
    if (this.#failed.has(server)) return false
    this.#draining.delete(server)
    this.#failed.add(server)
    return true
  }

  /** The server accepts nothing new. @returns whether it did until now: a failed server has nothing left to drain */
  drain(server: number): boolean {
    if (this.#failed.has(server) || this.#draining.has(server)) return false
    this.#draining.add(server)
    return true
  }

  restore(server: number): boolean {
    const wasDraining = this.#draining.delete(server)
    return this.#failed.delete(server) || wasDraining
  }

  /** Capacity of a server available to jobs. */
  left(server: number): ServerKind {
    const kind = this.#kinds[server]!
    const isAway = this.#failed.has(server) || this.#draining.has(server)
    return isAway ? { ...kind, gpus: 0, cpus: 0, memoryGb: 0 } : kind
  }
}

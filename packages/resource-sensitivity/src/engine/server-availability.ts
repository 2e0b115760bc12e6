import type { ServerKind } from '../cluster/cluster.js'

/** Which servers take jobs: those that have neither failed nor drain. */
export class ServerAvailability {
  readonly #kinds: readonly ServerKind[]
  readonly #failed = new Set<number>()
  readonly #draining = new Set<number>()

  /** @param kinds of the servers, one by one */
  constructor(kinds: readonly ServerKind[]) {
    this.#kinds = kinds
  }

  fail(server: number): boolean {
    if (this.#failed.has(server)) return false
    this.#draining.delete(server)
    this.#failed.add(server)
    return true
  }

  /** It takes nothing new. @returns whether it did until now: one that has failed has nothing left to drain */
  drain(server: number): boolean {
    if (this.#failed.has(server) || this.#draining.has(server)) return false
    this.#draining.add(server)
    return true
  }

  restore(server: number): boolean {
    const wasDraining = this.#draining.delete(server)
    return this.#failed.delete(server) || wasDraining
  }

  /** What jobs may have of a server. */
  left(server: number): ServerKind {
    const kind = this.#kinds[server]!
    const isAway = this.#failed.has(server) || this.#draining.has(server)
    return isAway ? { ...kind, gpus: 0, cpus: 0, memoryGb: 0 } : kind
  }
}

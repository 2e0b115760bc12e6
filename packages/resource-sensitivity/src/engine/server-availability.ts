import type { ServerKind } from '../cluster/cluster.js'

/** Which servers accept jobs: those that neither failed nor drain. */
export class ServerAvailability {
  readonly #kinds: readonly ServerKind[]
  readonly #away = new Map<number, 'failed' | 'draining'>()

  /** @param kinds the kind of each server */
  constructor(kinds: readonly ServerKind[]) {
    this.#kinds = kinds
  }

  /** @returns whether the state of the server changed; a failed server cannot drain */
  leave(server: number, how: 'failed' | 'draining'): boolean {
    const before = this.#away.get(server)
    if (before === how || before === 'failed') return false
    this.#away.set(server, how)
    return true
  }

  restore(server: number): boolean {
    return this.#away.delete(server)
  }

  /** Returns the capacity of a server that jobs may use: all of it, or nothing while the server is away. */
  left(server: number): ServerKind {
    const kind = this.#kinds[server]!
    return this.#away.has(server) ? { ...kind, gpus: 0, cpus: 0, memoryGb: 0 } : kind
  }
}

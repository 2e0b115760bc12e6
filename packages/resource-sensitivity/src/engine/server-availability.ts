import { InvalidInputError } from '@pctodl/platform'
import type { ServerKind } from '../cluster/cluster.js'
import type { EngineEvent, Reservation } from './engine-event.js'

/** Which servers are there, and what of them belongs to somebody else: what is left for jobs. */
export class ServerAvailability {
  readonly #kinds: readonly ServerKind[]
  readonly #failed = new Set<number>()
  readonly #draining = new Set<number>()
  readonly #reservations = new Map<string, Reservation>()

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

  /**
   * Note all reservations among events, or none where one of them is impossible. What others give back at the same moment is free.
   *
   * @param inside this cluster's numbers of the servers
   * @throws InvalidInputError for a reservation that no server could keep, or that others have made impossible
   */
  reserveAll(events: readonly EngineEvent[], inside: (server: number) => number): void {
    const ending = new Set(events.flatMap((event) => (event.type === 'reservation-ended' ? [event.id] : [])))
    const made: string[] = []
    try {
      for (const event of events) {
        if (event.type !== 'reserved') continue
        const { reservation } = event
        const isNew = this.#reserve({ ...reservation, server: inside(reservation.server) }, ending)
        if (isNew) made.push(reservation.id)
      }
    } catch (error) {
      for (const id of made) this.end(id)
      throw error
    }
  }

  #reserve(reservation: Reservation, ending: ReadonlySet<string>): boolean {
    const { id, server, gpus, fromS, untilS } = reservation
    if (this.#reservations.has(id)) return false
    const field = `reservation ${id}`
    const has = this.#kinds[server]!.gpus
    if (!(Number.isInteger(gpus) && gpus >= 1 && gpus <= has)) {
      throw new InvalidInputError(`${field}: gpus`, gpus, `an integer from 1 to the ${has} of server ${server}`)
    }
    if (!(fromS >= 0 && untilS > fromS)) {
      throw new InvalidInputError(`${field}: untilS`, untilS, `a time after fromS, ${fromS}, which is at least 0`)
    }
    const others = [...this.#reservations.values()].filter(
      (other) => other.server === server && other.fromS < untilS && fromS < other.untilS && !ending.has(other.id),
    )
    const most = Math.max(
      0,
      ...[fromS, ...others.map((other) => other.fromS)].map((atS) =>
        others.reduce((sum, other) => sum + (other.fromS <= atS && atS < other.untilS ? other.gpus : 0), 0),
      ),
    )
    if (most + gpus > has) {
      const free = has - most
      throw new InvalidInputError(`${field}: gpus`, gpus, `at most ${free}: others have reserved ${most} of ${has}`)
    }
    this.#reservations.set(id, reservation)
    return true
  }

  /** @returns the server whose reservation ended, null where there is none of that name */
  end(id: string): number | null {
    const server = this.#reservations.get(id)?.server ?? null
    this.#reservations.delete(id)
    return server
  }

  /** Reservations whose time is over are forgotten. @returns the servers on which a reservation begins or ended by now */
  changedBy(nowS: number, sinceS: number): Set<number> {
    const changed = new Set<number>()
    for (const [id, { server, fromS, untilS }] of this.#reservations) {
      if (fromS <= nowS && fromS > sinceS) changed.add(server)
      if (untilS > nowS) continue
      this.#reservations.delete(id)
      changed.add(server)
    }
    return changed
  }

  /** When a reservation begins or ends next. */
  nextChangeS(nowS: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { fromS, untilS } of this.#reservations.values()) next = Math.min(next, fromS > nowS ? fromS : untilS)
    return next
  }

  /** What jobs may have of a server: reserved GPUs take their share of CPU and memory along. */
  left(server: number, nowS: number): ServerKind {
    const kind = this.#kinds[server]!
    let gpus = this.#failed.has(server) || this.#draining.has(server) ? 0 : kind.gpus
    for (const reservation of this.#reservations.values()) {
      if (reservation.server === server && reservation.fromS <= nowS && nowS < reservation.untilS) {
        gpus = Math.max(0, gpus - reservation.gpus)
      }
    }
    if (gpus === kind.gpus) return kind
    const part = gpus / kind.gpus
    return { ...kind, gpus, cpus: kind.cpus * part, memoryGb: kind.memoryGb * part }
  }
}

import { assertServices, InvalidInputError, PctodlError, type Service, type ServiceCounters } from '@pctodl/platform'
import { assertServed, type ServedService } from './served-service.js'
import type { ServingEngine } from './serving-engine.js'

/** A board that can be advanced to the present time before it is read or changed. */
interface Board {
  catchUp(): void
}

/** The services of a simulated board while it runs: their counters, and changes without a restart. */
export class SimulatedServices {
  readonly #board: Board
  readonly #engine: ServingEngine

  constructor(board: Board, engine: ServingEngine) {
    this.#board = board
    this.#engine = engine
  }

  /** Counters of each service up to the board's last tick, in the order in which the services were added. */
  counters(): readonly ServiceCounters[] {
    this.#board.catchUp()
    return this.#engine.counters()
  }

  /**
   * Adds a service. Its requests arrive from now on.
   *
   * @throws InvalidInputError for an invalid service, or one whose name is taken
   */
  add(served: ServedService): void {
    this.#board.catchUp()
    assertServed([served])
    const { name } = served.service
    if (this.#engine.findService(name))
      throw new InvalidInputError('service.name', name, 'a name that is not served yet')
    this.#engine.addService(served)
  }

  /**
   * Removes a service; its waiting requests are shed.
   *
   * @returns its last counters
   * @throws PctodlError `IN_USE` while a tenant serves it; InvalidInputError for a name that is not served
   */
  remove(name: string): ServiceCounters {
    this.#board.catchUp()
    if (this.#engine.served(name)) {
      throw new PctodlError('IN_USE', `tenants serve ${name}; apply tenants without it first`)
    }
    return this.#engine.removeService(name)
  }

  /**
   * Changes the objective, weight, maximum batch size or longest wait of a service.
   *
   * @throws InvalidInputError for a name or a network that is not served
   */
  change(service: Service): void {
    this.#board.catchUp()
    assertServices([service])
    const before = this.#engine.findService(service.name)
    if (before !== undefined && before.model !== service.model) {
      throw new InvalidInputError(
        'service.model',
        service.model,
        `'${before.model}': another network is another service`,
      )
    }
    this.#engine.changeService(service)
  }

  /**
   * Admits a fraction of the arriving requests, evenly spaced, and sheds the others. Policies use it if not all
   * requests can be answered.
   *
   * @param share fraction to admit, 0..1
   */
  admit(name: string, share: number): void {
    this.#board.catchUp()
    if (!(share >= 0 && share <= 1)) throw new InvalidInputError('share', share, 'a share from 0 to 1')
    this.#engine.admit(name, share)
  }
}

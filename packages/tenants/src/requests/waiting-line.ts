import type { PendingRequest } from './pending-request.js'

interface Place {
  readonly request: PendingRequest
  before: Place | undefined
  after: Place | undefined
}

/** First-come, first-served queue from which any request can be removed. Every operation takes constant time. */
export class WaitingLine implements Iterable<PendingRequest> {
  readonly #places = new Map<PendingRequest, Place>()
  #first: Place | undefined
  #last: Place | undefined

  get length(): number {
    return this.#places.size
  }

  get first(): PendingRequest | undefined {
    return this.#first?.request
  }

  push(request: PendingRequest): void {
    const place: Place = { request, before: this.#last, after: undefined }
    if (this.#last) this.#last.after = place
    else this.#first = place
    this.#last = place
    this.#places.set(request, place)
  }

  putFirst(request: PendingRequest): void {
    const place: Place = { request, before: undefined, after: this.#first }
    if (this.#first) this.#first.before = place
    else this.#last = place
    this.#first = place
    this.#places.set(request, place)
  }

  /**
   * Removes a request.
   * @returns whether it was in the queue
   */
  remove(request: PendingRequest): boolean {
    const place = this.#places.get(request)
    if (!place) return false
    this.#places.delete(request)
    if (place.before) place.before.after = place.after
    else this.#first = place.after
    if (place.after) place.after.before = place.before
    else this.#last = place.before
    return true
  }

  /** Iterates in order. Requests that are removed during the iteration are not visited. */
  *[Symbol.iterator](): Iterator<PendingRequest> {
    for (let place = this.#first; place; place = place.after) {
      // The next entry may have been removed as well.
      if (this.#places.has(place.request)) yield place.request
    }
  }
}

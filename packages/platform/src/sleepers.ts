interface Sleeper {
  readonly wakeMs: number
  readonly order: number
  readonly wake: () => void
}

/** The sleepers of a virtual clock. Sleepers due at the same instant wake in the order in which they went to sleep. */
export class Sleepers {
  #order = 0
  readonly #sleepers: Sleeper[] = []

  /**
   * Sleeps until a time.
   * @throws the signal's reason if the signal aborts
   */
  sleepUntil(wakeMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const onAbort = () => {
        this.#remove(sleeper)
        reject(signal?.reason)
      }
      const sleeper: Sleeper = {
        wakeMs,
        order: this.#order++,
        wake: () => {
          signal?.removeEventListener('abort', onAbort)
          this.#remove(sleeper)
          resolve()
        },
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#sleepers.push(sleeper)
    })
  }

  /** Returns the next sleeper to wake; undefined if there is none. */
  next(): { readonly wakeMs: number; wake(): void } | undefined {
    let next: Sleeper | undefined
    for (const sleeper of this.#sleepers) {
      if (!next || sleeper.wakeMs < next.wakeMs || (sleeper.wakeMs === next.wakeMs && sleeper.order < next.order)) {
        next = sleeper
      }
    }
    return next
  }

  #remove(sleeper: Sleeper): void {
    const index = this.#sleepers.indexOf(sleeper)
    if (index >= 0) this.#sleepers.splice(index, 1)
  }
}

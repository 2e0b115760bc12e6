interface Sleeper {
  readonly wakeMs: number
  readonly order: number
  readonly wake: () => void
}

/** Who sleeps on a clock of virtual time. Who is due at the same instant wakes in the order of going to sleep. */
export class Sleepers {
  #order = 0
  readonly #sleepers: Sleeper[] = []

  /** @throws the signal's reason when it is aborted */
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

  /** Who wakes next; undefined where nobody sleeps. */
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

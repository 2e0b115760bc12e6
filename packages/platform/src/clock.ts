import { Sleepers } from './sleepers.js'

/**
 * A source of time. All code that waits or takes timestamps uses a `Clock`, so that simulated hours can pass in
 * milliseconds.
 */
export interface Clock {
  /** Monotonic milliseconds since an arbitrary start. */
  now(): number
  /** Wall-clock time, for timestamps in results. */
  date(): Date
  /** @throws the signal's reason if the signal aborts */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>
}

/** Longest delay of a Node.js timer, ms. A timer with a longer delay would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Real time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  sleep(durationMs, signal) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      const wait = (leftMs: number): ReturnType<typeof setTimeout> => {
        if (leftMs > LONGEST_TIMER_MS) {
          return setTimeout(() => {
            timer = wait(leftMs - LONGEST_TIMER_MS)
          }, LONGEST_TIMER_MS)
        }
        return setTimeout(() => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        }, leftMs)
      }
      let timer = wait(durationMs)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  },
}

/**
 * Virtual time. It is constant while any code runs, and jumps to the next wake-up time once all code waits. So
 * `sleep(5000)` takes microseconds, and runs are repeatable. Sleepers due at the same instant wake in the order in
 * which they went to sleep. Code on this clock must not wait for anything else, such as files or sockets.
 */
export class VirtualClock implements Clock {
  #nowMs = 0
  #pumping = false
  readonly #epochMs: number
  readonly #sleepers = new Sleepers()

  /** @param epoch the date at virtual time 0 */
  constructor(epoch: Date = new Date('2026-01-01T00:00:00Z')) {
    this.#epochMs = epoch.getTime()
  }

  now(): number {
    return this.#nowMs
  }

  date(): Date {
    return new Date(this.#epochMs + this.#nowMs)
  }

  sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    const slept = this.#sleepers.sleepUntil(this.#nowMs + Math.max(0, durationMs), signal)
    this.#pump()
    return slept
  }

  #pump(): void {
    if (this.#pumping) return
    this.#pumping = true
    // A macrotask runs only after all pending microtasks. By then, all code is waiting for this clock.
    setImmediate(() => {
      this.#pumping = false
      const next = this.#sleepers.next()
      if (!next) return
      this.#nowMs = Math.max(this.#nowMs, next.wakeMs)
      next.wake()
      this.#pump()
    })
  }
}

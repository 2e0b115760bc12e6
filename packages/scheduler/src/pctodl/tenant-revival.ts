import type { TenantFailure } from '../policy.js'

const FIRST_WAIT_MS = 5000
/** Longest wait; it doubles with each attempt, and a tenant that runs for ten minutes starts from the beginning. */
const LONGEST_WAIT_MS = 300_000
const FORGET_MS = 600_000

/** Decides when dead tenants are restarted: at once, then with growing delays. */
export class TenantRevival {
  #attempts = 0
  #lastMs = Number.NEGATIVE_INFINITY

  get attempts(): number {
    return this.#attempts
  }

  /** Whether to restart dead tenants now. Those that ran out of memory need a smaller batch instead. */
  due(timeMs: number, failures: readonly TenantFailure[]): boolean {
    const died = failures.some(({ failure }) => !ranOutOfMemory(failure))
    if (!died) return false
    const sinceMs = timeMs - this.#lastMs
    if (sinceMs >= FORGET_MS) this.#attempts = 0
    const waitMs = this.#attempts === 0 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.#attempts - 1))
    if (sinceMs < waitMs) return false
    this.#attempts++
    this.#lastMs = timeMs
    return true
  }
}

export function ranOutOfMemory(failure: string): boolean {
  return failure.startsWith('out of memory')
}

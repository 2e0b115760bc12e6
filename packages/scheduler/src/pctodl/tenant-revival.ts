import type { TenantFailure } from '../policy.js'

const FIRST_WAIT_MS = 5000
/**
 * Longest delay between attempts, ms. The delay doubles with each attempt. `FORGET_MS` after the last attempt, a dead
 * tenant is again restarted at once.
 */
const LONGEST_WAIT_MS = 300_000
const FORGET_MS = 600_000

/** Decides when dead tenants are restarted: the first time at once, then after growing delays. */
export class TenantRevival {
  #attempts = 0
  #lastMs = Number.NEGATIVE_INFINITY

  get attempts(): number {
    return this.#attempts
  }

  /**
   * Whether to restart dead tenants now. Tenants that ran out of memory are not restarted, because they need a smaller
   * batch.
   */
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

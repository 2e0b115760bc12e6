import { check } from './check.js'

/**
 * Fraction of a latency objective that computing a batch may take, as in ParvaGPU: half of the objective is for forming
 * the batch, and a tenth of the rest is a margin.
 */
export const DEFAULT_LATENCY_SHARE = 0.45

/**
 * Returns the time that a batch must stay below, ms.
 *
 * @param share fraction of the objective that computing a batch may take, above 0 and at most 1
 * @throws InvalidInputError for another fraction
 */
export function latencyGateMs(latencyMs: number, share: number = DEFAULT_LATENCY_SHARE): number {
  check(share > 0 && share <= 1, 'latencyShare', share, 'above 0 and at most 1')
  return share * latencyMs
}

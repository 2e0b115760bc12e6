import { InvalidInputError } from '@pctodl/platform'

/**
 * Share of a latency objective that a batch may take: half is for forming the batch, and a tenth of the rest is margin.
 */
export const DEFAULT_LATENCY_SHARE = 0.45

/**
 * Limit that a batch time must stay below, ms.
 *
 * @param share of the objective that computing a batch may take, above 0 and at most 1
 * @throws InvalidInputError for another share
 */
export function latencyGateMs(latencyMs: number, share: number = DEFAULT_LATENCY_SHARE): number {
  if (!(share > 0 && share <= 1)) throw new InvalidInputError('latencyShare', share, 'above 0 and at most 1')
  return share * latencyMs
}

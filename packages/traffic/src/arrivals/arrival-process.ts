import { type Arrivals, InvalidInputError } from '@pctodl/platform'

/**
 * An immutable description of how requests arrive. Each call of `start` gives an independent stream; the same seed
 * gives the same arrivals.
 */
export interface ArrivalProcess {
  /** Long-run mean rate, requests/s. For a replay that ends, the mean over its length. */
  readonly meanRatePerS: number
  /** @param seed any integer; deterministic processes ignore it */
  start(seed: number): Arrivals
}

export interface ArrivalTimesOptions {
  readonly seed?: number
  /** End time, ms; later arrivals are left out. Default Infinity. */
  readonly untilMs?: number
}

/**
 * Generates the arrival times of a process, counted from its start, ms, for use in loops. Code that must be fast should
 * use `start(seed).nextMs()`, which allocates no memory.
 */
export function* arrivalTimes(
  process: ArrivalProcess,
  { seed = 1, untilMs = Infinity }: ArrivalTimesOptions = {},
): Generator<number, void, undefined> {
  const arrivals = process.start(seed)
  for (let timeMs = arrivals.nextMs(); timeMs < untilMs; timeMs = arrivals.nextMs()) yield timeMs
}

/**
 * Checks a number.
 *
 * @throws InvalidInputError unless the value is a finite number above 0
 */
export function positive(field: string, value: number, expected = 'a finite number above 0'): number {
  if (!(typeof value === 'number' && value > 0 && value < Infinity)) throw new InvalidInputError(field, value, expected)
  return value
}

/**
 * Checks a number.
 *
 * @throws InvalidInputError unless the value is a finite number of at least 0
 */
export function notNegative(field: string, value: number, expected = 'a finite number of at least 0'): number {
  if (!(typeof value === 'number' && value >= 0 && value < Infinity)) {
    throw new InvalidInputError(field, value, expected)
  }
  return value
}

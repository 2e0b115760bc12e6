import { type Arrivals, InvalidInputError } from '@pctodl/platform'

/**
 * How requests arrive, as a description that does not change: every `start` is a stream of its own, the same for the same
 * seed.
 */
export interface ArrivalProcess {
  /** Requests/s over the long run; of a finite replay, over its length. */
  readonly meanRatePerS: number
  /** @param seed any integer; processes without chance ignore it */
  start(seed: number): Arrivals
}

export interface ArrivalTimesOptions {
  readonly seed?: number
  /** Arrivals before this time, ms. Default Infinity: until the process ends, if it does. */
  readonly untilMs?: number
}

/** The arrival times of a process one by one, ms since its start: for loops; hot ones use `start(seed).nextMs()`, which allocates nothing. */
export function* arrivalTimes(
  process: ArrivalProcess,
  { seed = 1, untilMs = Infinity }: ArrivalTimesOptions = {},
): Generator<number, void, undefined> {
  const arrivals = process.start(seed)
  for (let timeMs = arrivals.nextMs(); timeMs < untilMs; timeMs = arrivals.nextMs()) yield timeMs
}

/** @throws InvalidInputError unless the value is a finite number above 0 */
export function positive(field: string, value: number, expected = 'a finite number above 0'): number {
  if (!(typeof value === 'number' && value > 0 && value < Infinity)) throw new InvalidInputError(field, value, expected)
  return value
}

/** @throws InvalidInputError unless the value is a finite number of at least 0 */
export function notNegative(field: string, value: number, expected = 'a finite number of at least 0'): number {
  if (!(typeof value === 'number' && value >= 0 && value < Infinity)) {
    throw new InvalidInputError(field, value, expected)
  }
  return value
}

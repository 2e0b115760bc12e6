import type { Predictor } from '@pctodl/perf-model'
import { InvalidInputError } from '@pctodl/platform'

/** Device memory available to tenants, bytes: the given limit or the board's, minus reserved memory. */
export function memoryForTenants(
  { spec, reservedMemoryBytes = 0 }: Predictor,
  given: number = spec.memoryBytes,
): number {
  const expected = `bytes above 0 and at most ${spec.memoryBytes}, the memory of ${spec.key}`
  const most = number('memoryBytes', given, expected, (x) => x > 0 && x <= spec.memoryBytes)
  return Math.min(most, spec.memoryBytes - reservedMemoryBytes)
}

/** Memory clocks to search, descending. */
export function memClocks(predictor: Predictor, given: readonly number[] | undefined): readonly number[] {
  const clocks = [...new Set(given ?? predictor.memClocksMhz)].sort((a, b) => b - a)
  const known = predictor.memClocksMhz
  const stray = clocks.find((clock) => !known.includes(clock))
  if (stray !== undefined || clocks.length === 0) {
    throw new InvalidInputError(
      'memClocksMhz',
      given,
      `memory clocks that the predictor knows (${known.join(', ')} MHz)`,
    )
  }
  return clocks
}

/** @throws InvalidInputError if the value fails its check */
export function number(field: string, value: number, expected: string, holds: (value: number) => boolean): number {
  if (typeof value !== 'number' || !holds(value)) throw new InvalidInputError(field, value, expected)
  return value
}

export function integer(field: string, value: number, least: number, most: number): number {
  return number(
    field,
    value,
    `an integer from ${least} to ${most}`,
    (x) => Number.isInteger(x) && x >= least && x <= most,
  )
}

import { InvalidInputError } from '@pctodl/platform'

/** @throws InvalidInputError unless `isValid` */
export function assertInput(isValid: boolean, field: string, value: unknown, expected: string): asserts isValid {
  if (!isValid) throw new InvalidInputError(field, value, expected)
}

/** @throws InvalidInputError unless `value` is an integer of at least 1 */
export function assertPositiveInteger(field: string, value: number): void {
  assertInput(Number.isInteger(value) && value >= 1, field, value, 'a positive integer')
}

/** Returns the first value that occurs a second time. */
export function repeated<T>(values: readonly T[]): T | undefined {
  return values.find((value, i) => values.indexOf(value) !== i)
}

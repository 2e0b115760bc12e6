import { InvalidInputError } from '@pctodl/platform'

/** @throws InvalidInputError unless `isValid` */
export function assertInput(isValid: boolean, field: string, value: unknown, expected: string): asserts isValid {
  if (!isValid) throw new InvalidInputError(field, value, expected)
}

/** @throws InvalidInputError unless `value` is an integer of at least `least` */
export function assertInteger(field: string, value: number, least = 1): void {
  assertInput(Number.isInteger(value) && value >= least, field, value, `an integer of at least ${least}`)
}

/** Bound of all measured values. Sums and squares of larger ones could overflow, as could quotients by tiny ones. */
export const MAX_VALUE = 1e15

export const isPositive = (value: number): boolean => value >= 1e-15 && value <= MAX_VALUE

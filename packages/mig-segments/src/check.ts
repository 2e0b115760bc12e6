import { InvalidInputError } from '@pctodl/platform'

/** @throws InvalidInputError if a value is not as expected */
export function check(ok: boolean, field: string, value: unknown, expected: string): asserts ok {
  if (!ok) throw new InvalidInputError(field, value, expected)
}

/** @throws InvalidInputError if a value is not an integer of at least `least` */
export function checkInteger(field: string, value: number, least: number): void {
  check(Number.isInteger(value) && value >= least, field, value, `an integer of at least ${least}`)
}

/** Whether a number is above 0 and finite. */
export function isPositive(value: number): boolean {
  return value > 0 && value < Number.POSITIVE_INFINITY
}

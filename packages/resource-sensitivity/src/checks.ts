import { InvalidInputError } from '@pctodl/platform'

/** @throws InvalidInputError unless the value is a finite number above 0 */
export function assertPositive(field: string, value: number): void {
  if (!(value > 0 && Number.isFinite(value))) throw new InvalidInputError(field, value, 'a positive number')
}

/** @throws InvalidInputError unless the value is a finite number of at least `least` */
export function assertAtLeast(field: string, value: number, least = 0, what = 'a number'): void {
  if (!(value >= least && Number.isFinite(value))) {
    throw new InvalidInputError(field, value, `${what} of at least ${least}`)
  }
}

/** @throws InvalidInputError unless the value is an integer of at least `least` */
export function assertInteger(field: string, value: number, least = 1): void {
  if (!(Number.isInteger(value) && value >= least)) {
    throw new InvalidInputError(field, value, `an integer of at least ${least}`)
  }
}

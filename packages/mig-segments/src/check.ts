import { InvalidInputError } from '@pctodl/platform'
import type { ZodError } from 'zod'

/** @throws InvalidInputError if a value is not as expected */
export function check(ok: boolean, field: string, value: unknown, expected: string): asserts ok {
  if (!ok) throw new InvalidInputError(field, value, expected)
}

/** @throws InvalidInputError if a value is not an integer within limits */
export function checkInteger(field: string, value: number, least: number, most: number = Infinity): void {
  const limit = most < Infinity ? ` and at most ${most}` : ''
  const ok = Number.isInteger(value) && value >= least && value <= most
  check(ok, field, value, `an integer of at least ${least}${limit}`)
}

/** Whether a number is above 0 and finite. */
export function isPositive(value: number): boolean {
  return typeof value === 'number' && value > 0 && value < Infinity
}

/** The first problem of a file's content, with its place. */
export function firstIssue({ issues: [issue] }: ZodError): string {
  return `${issue!.path.join('.') || 'the file'}: ${issue!.message}`
}

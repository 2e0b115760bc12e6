import { InvalidInputError } from '@pctodl/platform'

/**
 * Checks of parsed JSON. Each throws an InvalidInputError that names the first wrong field. They are written by hand
 * because a schema library would dominate this package's cost: zod takes longer to load than the predictor may take,
 * and is as large as a web page with the predictor and one board.
 */
export type FieldCheck = (value: unknown, field: string) => void

export function numberThat(expected: string, holds: (value: number) => boolean): FieldCheck {
  return (value, field) => {
    if (typeof value !== 'number' || !Number.isFinite(value) || !holds(value)) {
      throw new InvalidInputError(field, value, expected)
    }
  }
}

export function oneOfThe(...values: readonly (string | number)[]): FieldCheck {
  return (value, field) => {
    if (!values.some((each) => each === value)) throw new InvalidInputError(field, value, values.join(' or '))
  }
}

export const someText: FieldCheck = (value, field) => {
  if (typeof value !== 'string' || value === '') throw new InvalidInputError(field, value, 'some text')
}

/** Gives several fields the same check. */
export function each<Name extends string>(check: FieldCheck, ...names: readonly Name[]): Record<Name, FieldCheck> {
  return Object.fromEntries(names.map((name) => [name, check])) as Record<Name, FieldCheck>
}

/**
 * Checks a list and each of its elements.
 *
 * @param expected description of a valid list for the error message
 * @param allowed true for a valid length
 */
export function listOf(
  element: FieldCheck,
  expected = 'a list',
  allowed: (length: number) => boolean = () => true,
): FieldCheck {
  return (value, field) => {
    if (!Array.isArray(value) || !allowed(value.length)) throw new InvalidInputError(field, value, expected)
    for (const [i, each] of value.entries()) element(each, `${field}.${i}`)
  }
}

/** Checks an object that has exactly these fields, each with its own check. Unknown and missing fields are errors. */
export function record<T>(fields: Readonly<Record<keyof T & string, FieldCheck>>): FieldCheck {
  const checks = Object.entries<FieldCheck>(fields)
  return (value, field) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new InvalidInputError(field, value, `an object with ${Object.keys(fields).join(', ')}`)
    }
    for (const [name, check] of checks) check((value as Record<string, unknown>)[name], `${field}.${name}`)
    const surprise = Object.keys(value).find((name) => !Object.hasOwn(fields, name))
    if (surprise !== undefined)
      throw new InvalidInputError(field, surprise, `no field but ${Object.keys(fields).join(', ')}`)
  }
}

import { InvalidInputError } from '@pctodl/platform'
import type { z } from 'zod'
import { InputFileError } from './errors.js'

/**
 * Parse JSON text and check it against `schema`.
 *
 * @param file for messages
 * @throws InputFileError naming file and field
 */
export function parseJsonAs<T>(schema: z.ZodType<T>, text: string, file: string): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new InputFileError(file, null, 'the file', text.slice(0, 40).trim(), 'JSON', { cause: error })
  }
  return parseAs(schema, value, file)
}

/** Same for a parsed value. `place` is its position in the file. */
export function parseAs<T>(schema: z.ZodType<T>, value: unknown, file: string, place: readonly string[] = []): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const { path, message, ...issue } = parsed.error.issues[0]!
  const field = [...place, ...path].join('.') || 'the file'
  const cause = parsed.error
  if (issue.code === 'unrecognized_keys') {
    throw new InputFileError(file, null, `a field of ${field}`, issue.keys[0], 'a known one', { cause })
  }
  const found = path.reduce<unknown>((part, key) => (part as Record<PropertyKey, unknown>)[key], value)
  // Zod says 'Invalid input: expected number, received string'.
  const expected = message.replace(/^.*?expected /, '').replace(/, received .*$/, '')
  throw new InputFileError(file, null, field, found, expected, { cause })
}

/**
 * Checks a parsed value.
 *
 * @throws InputFileError that names the field, in place of the check's InvalidInputError
 */
export function checkInput(file: string, expected: string, check: () => void): void {
  try {
    check()
  } catch (cause) {
    if (!(cause instanceof InvalidInputError)) throw cause
    throw new InputFileError(file, null, cause.field, cause.value, expected, { cause })
  }
}

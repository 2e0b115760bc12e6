import { InvalidInputError } from '@pctodl/platform'
import type { z } from 'zod'

/**
 * Checks JSON from outside.
 *
 * @param source name of the file for messages
 * @throws InvalidInputError naming the invalid field and what it should contain
 */
export function checked<T>(schema: z.ZodType<T>, json: unknown, source: string): T {
  const result = schema.safeParse(json)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  let value = json
  for (const key of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key]
  throw new InvalidInputError([source, path.join('.')].filter(Boolean).join(': '), value, message)
}

import { readFileSync } from 'node:fs'
import { InvalidInputError } from '@pctodl/platform'
import type { z } from 'zod'

/**
 * @param what expected content, for messages
 * @param schemaOf gets the parsed JSON
 * @throws InvalidInputError naming the file, the first invalid field and its value
 */
export function readFile<T>(file: string, what: string, schemaOf: (json: unknown) => z.ZodType<T>): T {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new InvalidInputError('file', file, `${what} (${(cause as Error).message})`, { cause })
  }
  const parsed = schemaOf(json).safeParse(json)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  const isUnknown = issue.code === 'unrecognized_keys'
  const path = isUnknown ? [...issue.path, issue.keys[0]!] : issue.path
  const found = path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], json)
  const expected = isUnknown ? 'no field of this name' : issue.message.replace(/^.*expected /, '')
  throw new InvalidInputError(`${file}: ${path.join('.') || 'content'}`, found, `${what}: ${expected}`)
}

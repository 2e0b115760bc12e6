import { readFileSync } from 'node:fs'
import { InvalidInputError, reasonOf } from '@pctodl/platform'

/** A zod schema, without a dependency on zod. */
interface Schema {
  safeParse(value: unknown): {
    readonly error?: { readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[] }
  }
}

/**
 * Checks JSON from outside. Fields that the schema does not name are kept.
 *
 * @param source name of the file for messages
 * @param wanted description of valid content for messages; default: only what the field should contain
 * @throws InvalidInputError naming the invalid field, its value and what it should contain
 */
export function checked<T>(schema: Schema, json: unknown, source: string, wanted?: string): T {
  const issue = schema.safeParse(json).error?.issues[0]
  if (issue === undefined) return json as T
  let value = json
  for (const key of issue.path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key]
  const expected = wanted === undefined ? issue.message : `${wanted} (${issue.message})`
  throw new InvalidInputError([source, issue.path.join('.')].filter(Boolean).join(': '), value, expected)
}

/**
 * Reads and checks a JSON file.
 *
 * @param wanted description of a valid file, for messages
 * @throws InvalidInputError with the file and, if it is JSON, the invalid field
 */
export function readJson<T>(schema: Schema, file: string, wanted: string): T {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new InvalidInputError(file, reasonOf(cause), wanted, { cause })
  }
  return checked(schema, json, file, wanted)
}

import { readFileSync } from 'node:fs'
import { InvalidInputError } from '@pctodl/platform'
import type { z } from 'zod'

/**
 * Reads a JSON file of a result folder.
 *
 * @param schema fields that are needed; further fields are kept
 * @param wanted description of a valid file, for the error message
 * @throws InvalidInputError with the file and the invalid field
 */
export function readJson<T>(file: string, schema: z.ZodType<unknown>, wanted: string): T {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new InvalidInputError(file, (error as Error).message, wanted, { cause: error })
  }
  const issue = schema.safeParse(json).error?.issues[0]
  if (issue) throw new InvalidInputError(`${file}: ${issue.path.join('.')}`, issue.message, wanted)
  return json as T
}

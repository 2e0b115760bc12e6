import { readFileSync } from 'node:fs'
import { InvalidInputError } from '@pctodl/platform'

/**
 * Reads the text of a map.
 *
 * @param field name of the option in messages
 * @throws InvalidInputError for a file that cannot be read
 */
export function readMap(file: string, field: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const expected = `a map that can be read, as 'pctodl segments' writes it: plan first, or name another (${(error as Error).message})`
    throw new InvalidInputError(field, file, expected, { cause: error })
  }
}

import { InvalidInputError } from './errors.js'

/**
 * Checks that a caller's options are an object without unknown names. Otherwise a misspelt option would be ignored
 * silently.
 *
 * @param name name of the options in messages
 * @param known all option names; its type requires that none is missing
 * @throws InvalidInputError for a value that is not an object, and for an unknown name
 */
export function assertKnownOptions<T extends object, const K extends readonly (keyof T & string)[]>(
  name: string,
  options: T,
  known: Exclude<keyof T, K[number]> extends never ? K : K & { readonly forgotten: Exclude<keyof T, K[number]> },
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidInputError(name, options, `an object with any of ${known.join(', ')}`)
  }
  const stray = Object.keys(options).find((option) => !(known as readonly string[]).includes(option))
  if (stray !== undefined) throw new InvalidInputError(`${name}.${stray}`, stray, `one of ${known.join(', ')}`)
}

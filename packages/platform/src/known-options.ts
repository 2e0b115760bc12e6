import { InvalidInputError } from './errors.js'

/**
 * Check that what a caller gave as options is an object with no name that nothing reads: a misspelt option would otherwise do nothing,
 * silently.
 *
 * @param name what messages call the options
 * @param known every option that there is; the type sees to it that none is forgotten
 * @throws InvalidInputError for anything but an object, and for a name that is not known
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

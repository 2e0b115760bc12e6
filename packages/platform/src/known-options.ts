import { InvalidInputError } from './errors.js'

/**
 * Check that what a caller gave as options is an object with no name that nothing reads: a misspelt option would otherwise do nothing,
 * silently.
 *
 * @param name what messages call the options
 * @param known every option that there is; the type sees to it that none is forgotten
 * @throws InvalidInputError for anything but an object, and for a name that is not known
 */
export function assertKnownOptions<T extends object>(
  name: string,
  options: T,
  known: Readonly<Record<keyof T & string, true>>,
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidInputError(name, options, `an object with any of ${Object.keys(known).join(', ')}`)
  }
  for (const option of Object.keys(options)) {
    if (!Object.hasOwn(known, option)) {
      throw new InvalidInputError(`${name}.${option}`, option, `one of ${Object.keys(known).join(', ')}`)
    }
  }
}

import { InvalidArgumentError } from 'commander'

/** Option parsers for commander. Each rejects an invalid value with a message that says what is expected. */

export function integerFrom(least: number, most: number = Number.MAX_SAFE_INTEGER) {
  return (text: string): number => {
    const value = Number(text)
    if (text.trim() === '' || !Number.isInteger(value) || value < least || value > most) {
      throw new InvalidArgumentError(
        most === Number.MAX_SAFE_INTEGER
          ? `not an integer of at least ${least}.`
          : `not an integer from ${least} to ${most}.`,
      )
    }
    return value
  }
}

export function numberBetween(least: number, most: number) {
  return (text: string): number => {
    const value = Number(text)
    if (text.trim() === '' || !(value >= least && value <= most)) {
      throw new InvalidArgumentError(`not a number from ${least} to ${most}.`)
    }
    return value
  }
}

/** @param unit unit for the message, e.g. `watts` */
export function positiveNumber(unit?: string) {
  return (text: string): number => {
    const value = Number(text)
    if (!(value > 0 && Number.isFinite(value))) {
      throw new InvalidArgumentError(`not a positive number${unit === undefined ? '' : ` of ${unit}`}.`)
    }
    return value
  }
}

/** Parses a list that is separated by commas, blanks or both (`50,25` or `"50 25"`); `parse` parses each element. */
export function listOf<T>(parse: (text: string) => T) {
  return (text: string, before?: readonly T[]): T[] => {
    const elements = text.split(/[\s,]+/).filter((element) => element !== '')
    if (elements.length === 0) throw new InvalidArgumentError('an empty list.')
    return [...(before ?? []), ...elements.map(parse)]
  }
}

export function oneOf<const T extends string>(...names: readonly T[]) {
  return (text: string): T => {
    const found = names.find((name) => name === text)
    if (found === undefined) throw new InvalidArgumentError(`not one of ${names.join(', ')}.`)
    return found
  }
}

import { InvalidArgumentError } from 'commander'

/** Option parsers for commander. Each rejects an invalid value with a message that says what is expected. */

type NumberParser = (text: string) => number

function numberThat(isValid: (value: number) => boolean, expected: string): NumberParser {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text)
    if (!isValid(value)) throw new InvalidArgumentError(`not ${expected}.`)
    return value
  }
}

export function integerFrom(least: number, most: number = Number.MAX_SAFE_INTEGER): NumberParser {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  return numberThat((value) => Number.isInteger(value) && value >= least && value <= most, `an integer ${range}`)
}

export function numberBetween(least: number, most: number): NumberParser {
  return numberThat((value) => value >= least && value <= most, `a number from ${least} to ${most}`)
}

/** @param unit unit for the message, e.g. `watts` */
export function positiveNumber(unit?: string): NumberParser {
  const ofUnit = unit === undefined ? '' : ` of ${unit}`
  return numberThat((value) => value > 0 && Number.isFinite(value), `a positive number${ofUnit}`)
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

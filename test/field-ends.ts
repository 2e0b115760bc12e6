import { expect } from 'vitest'

/** What a field of parsed input may be. */
export type FieldEnds = readonly [
  /** Its path, as errors begin with it. */
  field: string,
  /** A whole input in which the field has this value, and the rest is right. */
  inputOf: (value: never) => object,
  /** Values up to its ends. */
  taken: readonly unknown[],
  /** Values just beyond them, and others that it is not. */
  refused: readonly unknown[],
]

/** The parser gives inputs back as they are up to the field's ends, and names the field where it refuses one. */
export function expectEnds(parse: (text: string) => unknown, [field, inputOf, taken, refused]: FieldEnds): void {
  for (const value of taken) {
    const input = inputOf(value as never)
    expect(parse(JSON.stringify(input)), JSON.stringify(value)).toEqual(input)
  }
  const named = new RegExp(`^${field.replaceAll('.', '\\.')}(?![\\w])`)
  for (const value of refused) {
    const attempt = () => parse(JSON.stringify(inputOf(value as never)))
    expect(attempt, JSON.stringify(value)).toThrow(named)
  }
}

/** As many of the same. */
export function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value)
}

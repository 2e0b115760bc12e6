/** Encodes one part of a question as a word of an address. */
export interface Word<Question> {
  readonly expected: string
  /** Returns undefined for malformed text. */
  read(text: string): Partial<Question> | undefined
  /** Returns undefined if the address can omit the word. */
  write(question: Question): string | undefined
}

export type Vocabulary<Question> = Readonly<Record<string, Word<Question>>>

/** How a value is written as text. */
export interface Kind<Value> {
  readonly expected: string
  read(text: string): Value | undefined
  write(value: Value): string
}

/** Defines the word of one field. Unless `isAlways` is set, the address omits the field's default value. */
export function field<Question, Key extends keyof Question>(
  defaults: Question,
  key: Key,
  { expected, read, write }: Kind<NonNullable<Question[Key]>>,
  isAlways = false,
): Word<Question> {
  return {
    expected,
    read: (text) => {
      const value = read(text)
      return value === undefined ? undefined : ({ [key]: value } as unknown as Partial<Question>)
    },
    write: (question) => {
      const value = question[key]
      // An empty list is omitted from the address.
      return isAlways || value !== defaults[key] ? write(value as NonNullable<Question[Key]>) || undefined : undefined
    },
  }
}

export function numberOf(text: string | undefined): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text ?? '') ? Number(text) : Number.NaN
}

export function numbers(expected: string, accepts: (value: number) => boolean): Kind<number> {
  return {
    expected,
    read: (text) => {
      const value = numberOf(text)
      return accepts(value) ? value : undefined
    },
    write: String,
  }
}

export const between = (low: number, high: number): Kind<number> =>
  numbers(`a number from ${low} to ${high}`, (value) => value >= low && value <= high)

export const whole = (low: number, high: number): Kind<number> =>
  numbers(`a whole number from ${low} to ${high}`, (value) => Number.isInteger(value) && value >= low && value <= high)

export const LARGEST = 1e6

export const isPositive = (value: number): boolean => value > 0 && value <= LARGEST

export const positive: Kind<number> = numbers(`a number above 0, at most ${LARGEST}`, isPositive)

export const text = (expected: string): Kind<string> => ({
  expected,
  read: (word) => (word.trim() === '' || word.length > 200 ? undefined : word),
  write: String,
})

export function oneOf<Value extends string>(values: readonly Value[]): Kind<Value> {
  return {
    expected: `one of ${values.join(', ')}`,
    read: (word) => values.find((value) => value === word),
    write: String,
  }
}

/** Comma-separated entries. The list is malformed if an entry is malformed or if two entries have the same key. */
export function list<Entry>(
  expected: string,
  { read, write, keyOf }: Omit<Kind<Entry>, 'expected'> & { readonly keyOf?: (entry: Entry) => unknown },
): Kind<readonly Entry[]> {
  return {
    expected,
    read: (word) => {
      const entries = word.split(',', MAX_ENTRIES + 1).map(read)
      if (entries.length > MAX_ENTRIES || entries.includes(undefined)) return undefined
      const known = entries as Entry[]
      return keyOf && new Set(known.map(keyOf)).size < known.length ? undefined : known
    },
    write: (entries) => entries.map(write).join(','),
  }
}

/** Maximum number of entries of a list. It is more than the changes that a user makes to a run by hand. */
const MAX_ENTRIES = 200

/** A subset of the values, in the order of `values`. */
export function someOf<Value extends string>(values: readonly Value[]): Kind<readonly Value[]> {
  const kind = oneOf(values)
  const names = list(`some of ${values.join(', ')}`, { ...kind, keyOf: (value) => value })
  return {
    ...names,
    read: (word) => {
      const read = names.read(word)
      return read && values.filter((value) => read.includes(value))
    },
  }
}

/** Reads and writes the two parts of `what@seconds`; time 0 is omitted. */
export const timed = {
  read(word: string): { readonly what: string; readonly atS: number } | undefined {
    const [what = '', at = '0', ...rest] = word.split('@')
    const atS = numberOf(at)
    return what !== '' && rest.length === 0 && (atS === 0 || isPositive(atS)) ? { what, atS } : undefined
  },
  write: (what: string | number, atS: number): string => (atS === 0 ? `${what}` : `${what}@${atS}`),
}

import { assertKnownOptions, InvalidInputError } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'

describe('assertKnownOptions', () => {
  const known = ['seed', 'folds'] as const
  const check = (options: unknown) => () =>
    assertKnownOptions('options', options as { seed?: number; folds?: number }, known)

  it('accepts some, all or none of the options', () => {
    for (const options of [{}, { seed: 1 }, { seed: undefined, folds: 2 }]) expect(check(options)).not.toThrow()
  })

  it('names the option that nothing reads, and those that there are', () => {
    expect(check({ seed: 1, fold: 2 })).toThrow(InvalidInputError)
    expect(check({ seed: 1, fold: 2 })).toThrow("options.fold: got 'fold', expected one of seed, folds")
    expect(check({ toString: 1 })).toThrow('options.toString')
  })

  it.each([null, undefined, 1, 'seed', []])('refuses %j, which is no object', (options) => {
    expect(check(options)).toThrow(InvalidInputError)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changedFigures } from '../scripts/changed-figures.js'

describe('changedFigures', () => {
  it('shows figures that moved by more than noise, with the line they stand in', () => {
    const before = 'predict: 1,200 k/s, p99 3.0 us\nload: 20 ms\n'
    const now = 'predict: 1,100 k/s, p99 9.0 us\nload: 21 ms\n'
    expect(changedFigures(before, now)).toEqual([{ line: 'predict: 1,100 k/s, p99 9.0 us', ratio: 3 }])
  })

  it('pairs equal words in order and leaves lines without a partner out', () => {
    expect(changedFigures('a 1\na 10\n', 'a 1\na 30\nb 5\n')).toEqual([{ line: 'a 30', ratio: 3 }])
  })

  it('finds nothing where nothing changed, and nothing that is zero', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(changedFigures(text, text)).toEqual([])
      }),
    )
    expect(changedFigures('a 0\n', 'a 5\n')).toEqual([])
  })
})

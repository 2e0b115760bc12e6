import { expect, it } from 'vitest'
import { positivePart } from '../src/evaluate/moving-average.js'

it('a line is positive from where it has risen above zero to where it has fallen to it', () => {
  const ends = [-20, -1.5, -0.25, 0, 0.25, 1.5, 20]
  for (const first of ends) {
    for (const last of ends) {
      const positive = (share: number) => first + share * (last - first) > 1e-9
      const [from, to] = positivePart(first, last)
      const inside = (share: number) => share > from + 1e-9 && share < to - 1e-9
      const shares = Array.from({ length: 201 }, (_, i) => i / 200)
      expect(shares.filter((share) => inside(share) && !positive(share))).toEqual([])
      const outside = shares.filter((share) => share < from - 1e-9 || share > to + 1e-9)
      expect(outside.filter(positive)).toEqual([])
      if (first <= 0 && last <= 0) expect([from, to]).toEqual([1, 0])
    }
  }
})

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { gainOf } from '../examples/gain-of.js'

it('README shows an example that works', () => {
  const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
  const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
  expect(blocks).toEqual([read('../examples/gain-of.ts')])
  const { gain, pValue } = gainOf(
    (random) => 10 + random.normal(),
    (random) => 11 + random.normal() + 0.1 * random.normal(),
    12,
  )
  expect(gain.mean).toBeCloseTo(1, 0)
  expect(pValue!).toBeLessThan(0.001)
})

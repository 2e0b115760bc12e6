import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { gainOf } from '../examples/gain-of.js'
import { jobsThatFit } from '../examples/jobs-that-fit.js'

it('README shows examples that work', async () => {
  const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
  const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
  expect(blocks).toEqual([read('../examples/gain-of.ts'), read('../examples/jobs-that-fit.ts')])
  const { gain, pValue } = gainOf(
    (random) => 10 + random.normal(),
    (random) => 11 + random.normal() + 0.1 * random.normal(),
    12,
  )
  expect(gain.mean).toBeCloseTo(1, 0)
  expect(pValue!).toBeLessThan(0.001)
  const jobs = [
    { worth: 10, gib: 6 },
    { worth: 7, gib: 5 },
    { worth: 6, gib: 5 },
  ]
  expect(await jobsThatFit(jobs, 10)).toEqual({ chosen: [jobs[1], jobs[2]], bound: 13 })
})

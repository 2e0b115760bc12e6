import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { jobsThatFit } from '../examples/jobs-that-fit.js'

it('README shows an example that works', async () => {
  const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
  const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
  expect(blocks).toEqual([read('../examples/jobs-that-fit.ts')])
  const jobs = [
    { worth: 10, gib: 6 },
    { worth: 7, gib: 5 },
    { worth: 6, gib: 5 },
  ]
  expect(await jobsThatFit(jobs, 10)).toEqual({ chosen: [jobs[1], jobs[2]], bound: 13 })
})

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { peakPerS } from '../examples/peak-of-a-server.js'

it('README shows an example that works', async () => {
  const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
  const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
  expect(blocks).toEqual([read('../examples/peak-of-a-server.ts')])
  // p99 of an M/D/1 queue of 2 ms is 10 ms at a load of some 0.6.
  const peak = (await peakPerS())!
  expect(peak).toBeGreaterThan(270)
  expect(peak).toBeLessThan(340)
})

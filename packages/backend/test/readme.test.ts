import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { watchBoard } from '../examples/watch-board.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

const readme = read('../README.md')

it('the README shows the example as it stands, and what it answers', async () => {
  const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code)
  expect(blocks).toEqual([read('../examples/watch-board.ts')])
  const answer = await watchBoard('A100')
  expect(readme).toContain(answer)
})

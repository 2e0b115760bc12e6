import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { plan } from '../examples/plan.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  it('shows the example as it stands in the file', () => {
    const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read('../examples/plan.ts')])
  })

  it('shows what the example answers', async () => {
    expect(read('../README.md')).toContain(`\n${await plan('A100-80GB', 2)}\n`)
  })
})

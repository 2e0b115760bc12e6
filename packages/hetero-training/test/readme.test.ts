import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { plan } from '../examples/plan.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const readme = read('../README.md')

describe('README', () => {
  it('shows the example as it stands in the file', () => {
    const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read('../examples/plan.ts')])
  })

  it('shows what the example answers', () => {
    expect(readme.replaceAll('\n', ' ')).toContain(`\`plan(0.25)\` answers \`${plan(0.25)}\``)
    expect(readme.replaceAll('\n', ' ')).toContain(`\`plan(0.2)\` answers \`${plan(0.2)}\``)
  })
})

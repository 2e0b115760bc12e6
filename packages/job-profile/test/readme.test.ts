import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { profileLoader } from '../examples/profile-loader.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  it('shows the example as it stands in the file', () => {
    const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read('../examples/profile-loader.ts')])
  })

  it('shows an example that works, and tells its answer', async () => {
    expect(read('../README.md')).toContain(`\`${await profileLoader()}\``)
  })
})

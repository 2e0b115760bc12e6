import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compareMechanisms } from '../examples/compare-mechanisms.js'
import { profileLoader } from '../examples/profile-loader.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  it('shows the examples as they stand in their files', () => {
    const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read('../examples/compare-mechanisms.ts'), read('../examples/profile-loader.ts')])
  })

  it('shows examples that work, and tells their answers', async () => {
    const servers = [{ count: 16, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }]
    expect(read('../README.md')).toContain(`\`${compareMechanisms({ servers }, 9)}\``)
    expect(read('../README.md')).toContain(`\`${await profileLoader()}\``)
  })
})

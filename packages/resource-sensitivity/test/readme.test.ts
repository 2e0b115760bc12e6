import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compareMechanisms } from '../examples/compare-mechanisms.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  it('shows the example as it stands in the file', () => {
    const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read('../examples/compare-mechanisms.ts')])
  })

  it('shows an example that works, and tells its answer', () => {
    const servers = [{ count: 16, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }]
    const answer = compareMechanisms({ servers }, 9)
    expect(read('../README.md')).toContain(`\`${answer}\``)
  })
})

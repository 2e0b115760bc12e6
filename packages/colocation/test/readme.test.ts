import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { expectation } from '../examples/predict.js'
import { formatColocationTable, formatWorkloadTable } from '../src/index.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  it('shows the example as it stands in the file', () => {
    const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read('../examples/predict.ts')])
  })

  it('shows an example that works', () => {
    const workloads = syntheticWorkloads(8)
    const pairs = formatColocationTable(allPairs(workloads).map(lawfulColocation))
    const names = workloads.slice(0, 3).map(({ name }) => name)
    expect(expectation(formatWorkloadTable(workloads), pairs, names)).toMatch(
      /^(\S+ keeps \d+ %(, |; )){3}[\d.]+ samples\/s in sum \([\d.]+ to [\d.]+\)$/,
    )
  })
})

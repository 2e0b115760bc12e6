import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { clocksUnder } from '../examples/watch-morak.js'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  it('shows the example that is tested', () => {
    const shown = read('../README.md').match(/```ts\n([\s\S]*?)```/)?.[1]
    expect(shown).toBe(read('../examples/watch-morak.ts'))
  })

  it('has an example that does what it says', () => {
    expect(clocksUnder(110, 160)).toEqual([660, 585, 570])
  })
})

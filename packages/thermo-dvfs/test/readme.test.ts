import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { track } from '../examples/track-a-cap.js'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  it('shows the example that is tested', () => {
    const shown = read('../README.md').match(/```ts\n([\s\S]*?)```/)?.[1]
    expect(shown).toBe(read('../examples/track-a-cap.ts'))
  })

  it('has an example that holds its cap', () => {
    const { smClockMhz, powerW, status } = track(150)
    expect(status).toBe('settled')
    expect(powerW).toBeLessThanOrEqual(150)
    expect(powerW).toBeGreaterThan(0.96 * 150)
    expect(smClockMhz % 15).toBe(0)
  })
})

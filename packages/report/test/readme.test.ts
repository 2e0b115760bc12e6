import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { judge } from '../examples/judge-a-log.js'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  const readme = read('../README.md')

  it('shows the example that is tested', () => {
    expect(readme.match(/```ts\n([\s\S]*?)```/)?.[1]).toBe(read('../examples/judge-a-log.ts'))
  })

  it('says what the example answers', () => {
    const { throughput, meanPowerW, energyPerSampleJ, verdict } = judge()
    const { status, reason } = verdict
    expect(readme).toContain(
      `${throughput} samples/s at ${meanPowerW!.toFixed(1)} W and ${energyPerSampleJ!.toFixed(4)} J per sample, and the verdict \`${status}\`, because: ${reason}`,
    )
  })
})

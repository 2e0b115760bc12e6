import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { plan } from '../examples/plan.js'
import { planRequests } from '../examples/services.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  it('shows the example as it stands in the file', () => {
    const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read('../examples/plan.ts'), read('../examples/services.ts')])
    expect(read('../README.md')).toContain(`\`\`\`yaml\n${read('../examples/services.yaml')}\`\`\``)
  })

  it('shows an example that works', () => {
    expect(plan('3080Ti', 'resnet50', 200)).toMatch(
      /^(\d+ % x \d+(, )?){1,8} at \d+\/(9501|5001) MHz: \d+ samples\/s, 19\d\.\d W$/,
    )
    expect(plan('3080Ti', 'resnet50', 40)).toMatch(/raise it to at least [\d.]+ W \(with the margin of 2 W\)$/)
  })

  it('shows an example with services that works', () => {
    expect(planRequests(1200, 150, 200)).toMatch(
      /^(search \d+ % x \d+, )+ads \d+ % x \d+.* at \d+ MHz: p99 [1-3]\d ms and [1-9]\d ms, [67]\d W$/,
    )
    expect(planRequests(1200, 15_000, 200)).toMatch(
      /^ads is asked for 1.500e\+4 requests\/s, .* it can answer \d+ in time/,
    )
  })
})

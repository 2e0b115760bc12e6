import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, it, vi } from 'vitest'
import { programsOf } from '../scripts/readme-examples.js'

const root = path.resolve(import.meta.dirname, '..')
const scratch = path.join(import.meta.dirname, '.readme')

afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))

it.each([
  ['README.md', 1, /^\d+(\.\d+)? \d+/],
  ['README.md', 2, /^pctodl \S+ \S+ holds\npowercap \S+ \S+ (holds|violates)$/],
  ['packages/scheduler/README.md', 1, /throughput/],
  ['packages/bench-runner/README.md', 1, /holds/],
] as const)('the example of %s, number %i, runs as it stands', async (readme, number, printed) => {
  const example = programsOf(readme)[number - 1]
  const file = path.join(scratch, `${readme.replaceAll('/', '-')}-${number}.ts`)
  mkdirSync(scratch, { recursive: true })
  writeFileSync(file, example!)
  const lines: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((...values) => {
    lines.push(values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(' '))
  })
  try {
    await import(file)
  } finally {
    log.mockRestore()
  }
  expect(lines.join('\n')).toMatch(printed)
})

it('the packages that the README lists are the packages that there are', () => {
  const text = readFileSync(path.join(root, 'README.md'), 'utf8')
  for (const [, name, folder] of text.matchAll(/\[`@pctodl\/([a-z-]+)`\]\((packages\/[a-z-]+)\)/g)) {
    expect(folder).toBe(`packages/${name}`)
    expect(JSON.parse(readFileSync(path.join(root, folder!, 'package.json'), 'utf8')).name).toBe(`@pctodl/${name}`)
  }
})

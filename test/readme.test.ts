import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, it, vi } from 'vitest'

const root = path.resolve(import.meta.dirname, '..')
const scratch = path.join(import.meta.dirname, '.readme')

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

it.each([
  ['README.md', /^\d+(\.\d+)? \d+/],
  ['packages/scheduler/README.md', /throughput/],
  ['packages/bench-runner/README.md', /holds/],
])('the example of %s runs as it stands', async (readme, printed) => {
  const text = readFileSync(path.join(root, readme), 'utf8')
  const [, example] = text.match(/```ts\n([\s\S]*?)```/)!
  const file = path.join(scratch, `${readme.replaceAll('/', '-')}.ts`)
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

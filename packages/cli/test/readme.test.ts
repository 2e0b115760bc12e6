import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { commands } from '../src/index.js'

const readme = readFileSync(path.join(import.meta.dirname, '..', 'README.md'), 'utf8')
const folder = mkdtempSync(path.join(import.meta.dirname, 'readme-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

describe('README', () => {
  it('shows an example that runs', async () => {
    const file = path.join(folder, 'example.ts')
    writeFileSync(file, /```ts\n([\s\S]*?)```/.exec(readme)![1]!)
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    await import(file)
    const lines = log.mock.calls.map(([line]) => String(line))
    log.mockRestore()
    for (const line of lines) expect(line).toMatch(/^(.+ is (absent|broken): \w.+|a crashed run left a \S+: .+)$/)
    expect(lines.join('\n')).not.toMatch(/^simulated board is/m)
  })

  it('lists the commands that there are, with their binaries', () => {
    const rows = [
      ...readme.matchAll(/^\| `([\w-]+)` \| [^|]+ \| (?:`@pctodl\/[\w-]+`(?:, `([\w-]+)`)?|only here) \|$/gm),
    ]
    expect(rows.map(([, name, binary]) => ({ name, binary }))).toEqual(
      commands.map(({ name, binary }) => ({ name, binary })),
    )
  })
})

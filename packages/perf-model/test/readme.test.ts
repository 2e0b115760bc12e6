import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { shippedParameters } from '@pctodl/perf-model'
import { afterEach, describe, expect, it, vi } from 'vitest'

const home = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(import.meta.dirname, 'readme-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('README', () => {
  it('shows an example that runs', async () => {
    const code = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(home, 'README.md'), 'utf8'))![1]!
    writeFileSync(join(folder, 'example.ts'), code)
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    await import(join(folder, 'example.ts'))
    const lines = log.mock.calls.map(([line]) => String(line))
    log.mockRestore()
    // The highest clock under the cap comes close to it.
    expect(lines[0]).toMatch(/^\d+ MHz: \d+ samples\/s at 2(1\d|20) W \+- \d\.\d W$/)
    expect(lines).toHaveLength(2)
    expect(lines[1]).toMatch(/^\d+\.\d ms, \d+\.\d ms$/)
  })

  it('quotes the errors of the shipped files', () => {
    const readme = readFileSync(join(home, 'README.md'), 'utf8')
    for (const board of Object.keys(shippedParameters)) {
      const { provenance } = JSON.parse(readFileSync(join(home, 'params', `${board}.json`), 'utf8'))
      for (const { quantity, rows, median, p95 } of provenance.heldOutErrors) {
        if (rows === 'all')
          expect(readme, `${board}, ${quantity}`).toContain(`${median.toFixed(1)} / ${p95.toFixed(1)}`)
      }
    }
  })
})

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { shippedParameters } from '@pctodl/perf-model'
import { afterAll, describe, expect, it, vi } from 'vitest'

const home = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(import.meta.dirname, 'readme-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

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

  it('shows an example with requests that runs: more of them wait longer and draw more', async () => {
    const blocks = [...readFileSync(join(home, 'README.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)]
    writeFileSync(join(folder, 'serving.ts'), blocks.find(([, code]) => code!.includes('ServingModel'))![1]!)
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    await import(join(folder, 'serving.ts'))
    const [few, many] = log.mock.calls.map(([line]) =>
      /^\d+\/s: p99 (\d+) ms, (\d+) W$/.exec(String(line))!.slice(1).map(Number),
    )
    log.mockRestore()
    expect(many![0]).toBeGreaterThan(few![0]!)
    expect(many![1]).toBeGreaterThan(few![1]!)
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

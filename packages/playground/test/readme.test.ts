import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { besideResults } from '../examples/beside-results.js'

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')
const folder = mkdtempSync(path.join(tmpdir(), 'playground-readme-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('README', () => {
  it('shows the example that is tested', () => {
    const example = read('../README.md').match(/```ts\n([\s\S]*?)```/)?.[1]
    expect(example).toBe(read('../examples/beside-results.ts'))
  })

  it('shows an example that writes the page', () => {
    const page = readFileSync(besideResults(folder), 'utf8')
    expect(page).toContain('<title>pctodl playground</title>')
    // What the README says of its promise.
    expect(page).toContain("connect-src 'none'")
  })
})

import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { localFile, specifiersOf } from './local-imports.js'
import { importsKey } from './module-keys.js'

const folder = mkdtempSync(path.join(tmpdir(), 'local-imports-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

it('are what a source imports, and the paths that it names', () => {
  const source = `
    import { a } from './a.js'
    export * from "@pctodl/perf-model/traces"
    const b = await import('../b.js')
    const program = new URL('./program.ts', import.meta.url)
    import fs from 'node:fs'`
  expect(specifiersOf(source)).toEqual(['./a.js', '@pctodl/perf-model/traces', '../b.js', './program.ts'])
})

it('lead to sources, before what is built of them', () => {
  mkdirSync(path.join(folder, 'packages/perf-model/src'), { recursive: true })
  const traces = path.join(folder, 'packages/perf-model/src/traces.ts')
  writeFileSync(traces, '')
  const from = path.join(folder, 'from.ts')
  expect(localFile(folder, from, '@pctodl/perf-model/traces')).toBe(traces)
  expect(localFile(folder, from, './packages/perf-model/src/traces.js')).toBe(traces)
  expect(localFile(folder, from, './packages/perf-model')).toBeUndefined()
  expect(localFile(folder, from, 'vitest')).toBeUndefined()
})

it('give a kept module another key where a file that it imports has moved', () => {
  const module = { id: path.join(folder, 'a.ts'), sourceCode: "import { b } from './b.js'" }
  writeFileSync(path.join(folder, 'b.ts'), '')
  const before = importsKey(module)
  expect(importsKey(module)).toBe(before)
  renameSync(path.join(folder, 'b.ts'), path.join(folder, 'b.tsx'))
  expect(importsKey(module)).not.toBe(before)
})

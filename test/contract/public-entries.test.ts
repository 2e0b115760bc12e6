import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const folder = import.meta.dirname
const root = path.resolve(folder, '../..')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))

/** Entries that a package exports, as `.` or `./name`. */
function entriesOf(name: string): readonly string[] {
  const { exports } = JSON.parse(readFileSync(path.join(root, 'packages', name, 'package.json'), 'utf8'))
  return Object.keys(exports)
}

describe('the contract', () => {
  it.each(files)('knows of packages only what they export: %s', (file) => {
    const source = readFileSync(path.join(folder, file), 'utf8')
    const named = [...source.matchAll(/(?:from|import)\s*\(?\s*['"]([^'"\n]+)['"]/g)].map(([, specifier]) => specifier!)
    for (const specifier of named) {
      if (specifier.startsWith('.')) {
        const target = path.relative(path.join(root, 'test'), path.resolve(folder, path.dirname(file), specifier))
        expect(target.startsWith('..'), `${specifier} leads out of test/`).toBe(false)
        continue
      }
      const own = /^@pctodl\/([a-z-]+)(\/.*)?$/.exec(specifier)
      if (own) expect(entriesOf(own[1]!), specifier).toContain(own[2] === undefined ? '.' : `.${own[2]}`)
    }
    // No source is read by its path either, past the imports.
    expect(source.replace(/\/\/.*$/gm, '')).not.toMatch(/packages\/[a-z-]+\/(src|test)/)
  })
})

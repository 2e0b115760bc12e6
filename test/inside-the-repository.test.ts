import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '..')
/** What nobody wrote here, or what runs leave behind. */
const notOurs = new Set([
  'pnpm-lock.yaml',
  'node_modules',
  'dist',
  '.git',
  '.turbo',
  '.tools',
  'benchmark_results',
  'demo_results',
  '.traces',
])
const readsAsPaths = /\.([cm]?[jt]s|json|sh|py|ya?ml)$/

function ourFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (notOurs.has(entry.name)) return []
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) return ourFiles(file)
    return entry.isFile() && readsAsPaths.test(entry.name) ? [file] : []
  })
}

/**
 * Paths in a text that lead out of the repository when they are followed from the file's own folder: `../` in any string, and
 * `'..'` as the arguments of `path.join` and `path.resolve` after the folder.
 */
function pathsOutside(file: string, text: string): string[] {
  const relative = [...text.matchAll(/(?<![.\w/])(?:\.\.\/)+[\w.@/-]*/g)].map(([found]) => found)
  const joined = [...text.matchAll(/(?:dirname|__dirname)\s*((?:,\s*'[^'\n]*'\s*)+)/g)].map(([, parts]) =>
    path.join(...[...parts!.matchAll(/'([^']*)'/g)].map(([, part]) => part!)),
  )
  return [...relative, ...joined].filter((found) => {
    const reached = path.relative(root, path.resolve(path.dirname(file), found))
    return reached.startsWith('..') || path.isAbsolute(reached)
  })
}

describe('the repository is all that its tests and scripts read', () => {
  it('names no path outside itself', () => {
    const found = ourFiles(root)
      .filter((file) => file !== import.meta.filename)
      .flatMap((file) =>
        pathsOutside(file, readFileSync(file, 'utf8')).map((each) => `${path.relative(root, file)}: ${each}`),
      )
    expect(found).toEqual([])
  })

  it('would see each way of naming one', () => {
    const file = path.join(root, 'packages/some/test/some.test.ts')
    expect(pathsOutside(file, `new URL('../../../../beside/x.json', import.meta.url)`)).toEqual([
      '../../../../beside/x.json',
    ])
    expect(pathsOutside(file, `path.resolve(import.meta.dirname, '..', '..', '..', '..', 'beside')`)).toHaveLength(1)
    expect(pathsOutside(file, `path.resolve(import.meta.dirname, '../../../../beside')`)).not.toEqual([])
    expect(pathsOutside(path.join(root, 'package.json'), '"calibrate": "tsx x.ts ../beside"')).toEqual(['../beside'])
    expect(pathsOutside(file, `import { a } from '../../other/test/a.js'`)).toEqual([])
    expect(pathsOutside(file, `path.join(import.meta.dirname, '..', 'bin')`)).toEqual([])
  })
})

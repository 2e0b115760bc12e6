import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '..')
const packagesDir = path.join(root, 'packages')
const packages = readdirSync(packagesDir)
const page = readFileSync(path.join(root, 'ARCHITECTURE.md'), 'utf8')
/** A package with more is two. */
const MAX_LINES = 9000

/** Lines of what a package ships, a page's included. */
function linesOf(name: string): number {
  const folders = ['src', 'site']
    .map((folder) => path.join(packagesDir, name, folder))
    .filter((folder) => existsSync(folder))
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => path.join(folder, file)),
  )
  return files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0)
}

/** Below `packages/`; a name without a package is beside the one before it. */
function filesNamedIn(text: string): string[] {
  let folder = ''
  return [...text.matchAll(/`([\w./-]+\.ts|[\w./-]+\/)`/g)].map(([, file]) => {
    const named = file!.includes('/src/') ? file! : path.join(folder, file!)
    folder = path.dirname(named)
    return named
  })
}

describe('the architecture page', () => {
  it('lists every package, and the README every one that is published', () => {
    const readme = readFileSync(path.join(root, 'README.md'), 'utf8')
    for (const name of packages) {
      expect(page).toContain(`| \`${name}\` |`)
      const manifest = JSON.parse(readFileSync(path.join(packagesDir, name, 'package.json'), 'utf8'))
      if (manifest.private !== true) expect(readme).toContain(`](packages/${name})`)
    }
  })

  it('draws every package but the one that only tests import', () => {
    const drawing = /```\n(platform ── [\s\S]*?)```/.exec(page)![1]!
    const drawn = new Set(drawing.match(/[a-z][a-z-]*/g))
    expect(packages.filter((name) => !drawn.has(name))).toEqual(['reference-data'])
  })

  it('names files that are there', () => {
    const rows = page.split('\n').filter((row) => row.startsWith('| ') && row.includes('/src/'))
    expect(rows.length).toBeGreaterThan(10)
    for (const row of rows) {
      for (const named of filesNamedIn(row))
        expect(existsSync(path.join(packagesDir, named)), `${row}: ${named}`).toBe(true)
    }
  })
})

describe('the page of concepts', () => {
  const systems = readFileSync(path.join(root, 'CONCEPTS.md'), 'utf8').split(/^## /m).slice(1)

  it('tells of the five systems, each in at most 30 lines', () => {
    expect(systems.map((text) => /^[\w²]+/.exec(text)![0])).toEqual(['PctoDL', 'ParvaGPU', 'KACE', 'Zeus²', 'Synergy'])
    for (const text of systems) expect(text.trim().split('\n').length).toBeLessThanOrEqual(30)
  })

  it.each(systems.map((text) => [text.split(':')[0], text]))('names files of %s that are there', (_, text) => {
    const files = filesNamedIn(text!)
    expect(files.length).toBeGreaterThan(10)
    expect(files.filter((file) => !existsSync(path.join(packagesDir, file)))).toEqual([])
  })
})

it.each(packages)('%s is small enough to be read', (name) => {
  expect(linesOf(name)).toBeLessThanOrEqual(MAX_LINES)
})

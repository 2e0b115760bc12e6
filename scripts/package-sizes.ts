/**
 * Measures the size of each package by quantities that do not depend on comments and formatting: tokens of its sources,
 * names that its `index.ts` exports, and words of its README.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'

export interface PackageSize {
  readonly tokens: number
  readonly exports: number
  readonly readmeWords: number
}

/** Sizes of each folder of `packages/`, and of `scripts/`. */
export function packageSizes(root: string): Map<string, PackageSize> {
  const names = readdirSync(path.join(root, 'packages'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  const sizes = new Map<string, PackageSize>()
  for (const name of names.sort()) {
    const folder = path.join(root, 'packages', name)
    const readme = path.join(folder, 'README.md')
    sizes.set(name, {
      tokens: tokensIn(path.join(folder, 'src')) + tokensIn(path.join(folder, 'site')),
      exports: exportsOf(path.join(folder, 'src', 'index.ts')),
      readmeWords: existsSync(readme) ? readFileSync(readme, 'utf8').split(/\s+/).filter(Boolean).length : 0,
    })
  }
  sizes.set('(scripts)', { tokens: tokensIn(path.join(root, 'scripts')), exports: 0, readmeWords: 0 })
  return sizes
}

function tokensIn(folder: string): number {
  if (!existsSync(folder)) return 0
  let tokens = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) tokens += entry.name === 'node_modules' || entry.name === 'dist' ? 0 : tokensIn(file)
    else if (/\.([mc]?tsx?|mjs)$/.test(entry.name) && !/\.d\.[mc]?ts$/.test(entry.name)) tokens += tokensOf(file)
  }
  return tokens
}

function tokensOf(file: string): number {
  const variant = file.endsWith('x') ? ts.LanguageVariant.JSX : ts.LanguageVariant.Standard
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, variant, readFileSync(file, 'utf8'))
  let tokens = 0
  while (scanner.scan() !== ts.SyntaxKind.EndOfFileToken) tokens++
  return tokens
}

/** Number of exported names. An `index.ts` contains only export lists. */
function exportsOf(index: string): number {
  if (!existsSync(index)) return 0
  return (readFileSync(index, 'utf8').match(/\b[A-Za-z_]\w*(?=\s*[,}])/g) ?? []).length
}

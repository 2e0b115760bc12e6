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
  const sizes = new Map<string, PackageSize>()
  for (const { name } of readdirSync(path.join(root, 'packages'), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )) {
    const folder = path.join(root, 'packages', name)
    sizes.set(name, {
      tokens: tokensIn(path.join(folder, 'src')) + tokensIn(path.join(folder, 'site')),
      exports: countIn(path.join(folder, 'src', 'index.ts'), /\b[A-Za-z_]\w*(?=\s*[,}])/g),
      readmeWords: countIn(path.join(folder, 'README.md'), /\S+/g),
    })
  }
  sizes.set('(scripts)', { tokens: tokensIn(path.join(root, 'scripts')), exports: 0, readmeWords: 0 })
  return sizes
}

function tokensIn(folder: string): number {
  if (!existsSync(folder)) return 0
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.([mc]?tsx?|mjs)$/.test(file) && !/\.d\.[mc]?ts$|\b(node_modules|dist)\b/.test(file))
    .reduce((sum, file) => sum + tokensOf(path.join(folder, file)), 0)
}

function tokensOf(file: string): number {
  const variant = file.endsWith('x') ? ts.LanguageVariant.JSX : ts.LanguageVariant.Standard
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, variant, readFileSync(file, 'utf8'))
  let tokens = 0
  while (scanner.scan() !== ts.SyntaxKind.EndOfFileToken) tokens++
  return tokens
}

/** Number of matches in a file; 0 without the file. An `index.ts` contains only export lists. */
function countIn(file: string, pattern: RegExp): number {
  return existsSync(file) ? (readFileSync(file, 'utf8').match(pattern) ?? []).length : 0
}

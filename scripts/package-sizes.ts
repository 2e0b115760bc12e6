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

/** Sizes of each folder of `packages/`, and of all scripts: those in `scripts/` and those of the packages. */
export function packageSizes(root: string): Map<string, PackageSize> {
  const sizes = new Map<string, PackageSize>()
  let scripts = tokensIn(path.join(root, 'scripts'))
  for (const { name } of readdirSync(path.join(root, 'packages'), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )) {
    const folder = path.join(root, 'packages', name)
    scripts += tokensIn(path.join(folder, 'scripts'))
    sizes.set(name, {
      tokens: tokensIn(path.join(folder, 'src')) + tokensIn(path.join(folder, 'site')),
      exports: countIn(path.join(folder, 'src', 'index.ts'), /\b[A-Za-z_]\w*(?=\s*[,}])/g),
      readmeWords: countIn(path.join(folder, 'README.md'), /\S+/g),
    })
  }
  sizes.set('(scripts)', { tokens: scripts, exports: 0, readmeWords: 0 })
  return sizes
}

function tokensIn(folder: string): number {
  if (!existsSync(folder)) return 0
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.([mc]?tsx?|mjs)$/.test(file) && !/\.d\.[mc]?ts$|\b(node_modules|dist)\b/.test(file))
    .map((file) => path.join(folder, file))
    .reduce((sum, file) => sum + tokenCount(readFileSync(file, 'utf8'), file), 0)
}

/**
 * Counts the tokens of a source text. The parser finds where a template continues after a placeholder and where a regular
 * expression begins; a scanner alone takes code for text there. It scans only what lies between the parser's nodes.
 */
export function tokenCount(text: string, file = 'source.ts'): number {
  const jsDocParsingMode = ts.JSDocParsingMode.ParseNone
  const source = ts.createSourceFile(file, text, { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode })
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true)
  let tokens = 0
  const scan = (start: number, end: number) => {
    scanner.setText(text, start, end - start)
    while (scanner.scan() !== ts.SyntaxKind.EndOfFileToken) tokens++
  }
  const visit = (node: ts.Node) => {
    if (ts.isTokenKind(node.kind)) {
      if (node.kind !== ts.SyntaxKind.EndOfFileToken && node.end > node.pos) tokens++
      return
    }
    let counted = node.pos
    ts.forEachChild(node, (child) => {
      scan(counted, child.pos)
      visit(child)
      counted = child.end
    })
    scan(counted, node.end)
  }
  visit(source)
  return tokens
}

/** Number of matches in a file; 0 without the file. An `index.ts` contains only export lists. */
function countIn(file: string, pattern: RegExp): number {
  return existsSync(file) ? (readFileSync(file, 'utf8').match(pattern) ?? []).length : 0
}

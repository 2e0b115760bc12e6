import { existsSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * Finds what a source file refers to in this repository: imports, and other quoted relative paths (a program to start,
 * an example to read).
 */
export function specifiersOf(source: string): string[] {
  const imports = [...source.matchAll(/(?:from\s*|import\s*\(?\s*)['"]((?:\.|@pctodl\/)[^'"\n]*)['"]/g)]
  const paths = [...source.matchAll(/['"`](\.{1,2}\/[^'"`\n]+\.[a-z]+)['"`]/g)]
  return [...new Set([...imports, ...paths].map(([, specifier]) => specifier!))]
}

/**
 * Resolves a specifier in `file`; sources are preferred to build outputs.
 *
 * @returns the file; undefined if there is none
 */
export function localFile(root: string, file: string, specifier: string): string | undefined {
  const ofFamily = /^@pctodl\/([a-z-]+)(?:\/([a-z-]+))?$/.exec(specifier)
  if (!ofFamily && !specifier.startsWith('.')) return undefined
  const candidate = ofFamily
    ? path.join(root, 'packages', ofFamily[1]!, 'src', `${ofFamily[2] ?? 'index'}.ts`)
    : path.resolve(path.dirname(file), specifier)
  const sources = [candidate.replace(/\.js$/, '.ts'), candidate.replace(/\.js$/, '.tsx'), candidate]
  return sources.find((source) => existsSync(source) && statSync(source).isFile())
}

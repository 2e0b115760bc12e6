import { existsSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * What a source names of this repository: what it imports, and what else it gives a relative path of in quotes (a program to
 * start, an example to read).
 */
export function specifiersOf(source: string): string[] {
  const imports = [...source.matchAll(/(?:from\s*|import\s*\(?\s*)['"]((?:\.|@pctodl\/)[^'"\n]*)['"]/g)]
  const paths = [...source.matchAll(/['"`](\.{1,2}\/[^'"`\n]+\.[a-z]+)['"`]/g)]
  return [...new Set([...imports, ...paths].map(([, specifier]) => specifier!))]
}

/** @returns the file that a specifier in `file` leads to, sources before what is built of them; undefined where there is none */
export function localFile(root: string, file: string, specifier: string): string | undefined {
  const ofFamily = /^@pctodl\/([a-z-]+)(?:\/([a-z-]+))?$/.exec(specifier)
  if (!ofFamily && !specifier.startsWith('.')) return undefined
  const candidate = ofFamily
    ? path.join(root, 'packages', ofFamily[1]!, 'src', `${ofFamily[2] ?? 'index'}.ts`)
    : path.resolve(path.dirname(file), specifier)
  const sources = [candidate.replace(/\.js$/, '.ts'), candidate.replace(/\.js$/, '.tsx'), candidate]
  return sources.find((source) => existsSync(source) && statSync(source).isFile())
}

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

/** What a source file uses of another one: some names, or all of it. */
export interface ModuleUse {
  readonly specifier: string
  /** Names in the other file, by their names in this file; undefined if any name may be used. */
  readonly names: ReadonlyMap<string, string> | undefined
  /** Whether the file re-exports these names. */
  readonly handsOn: boolean
}

const statement =
  /^(import|export)\s+(type\s)?\s*(\{[^}]*\}|[\w*$]+(?:\s+as\s+[\w$]+)?(?:\s*,\s*\{[^}]*\})?)\s*from\s*['"]([^'"\n]+)['"]/gm

/** Finds what a source file uses of other files at run time. Type imports are left out, because they are erased. */
export function usesOf(source: string): ModuleUse[] {
  const statements = [...source.matchAll(statement)].map(
    ([, keyword, type, clause, specifier]): ModuleUse | undefined => {
      const names = clause!.startsWith('{') ? namesOf(clause!) : undefined
      // `import {} from` has no names either, but it runs the module.
      const isType = type !== undefined || (names?.size === 0 && /\w/.test(clause!))
      return isType ? undefined : { specifier: specifier!, names, handsOn: keyword === 'export' }
    },
  )
  const rest = specifiersOf(source.replace(statement, '')).map((specifier) => ({
    ...{ specifier, names: undefined, handsOn: false },
  }))
  return [...statements.filter((use) => use !== undefined), ...rest]
}

function namesOf(clause: string): Map<string, string> {
  const items = clause
    .slice(1, -1)
    .replace(/\/\/.*$/gm, '')
    .split(',')
  return new Map(
    items.flatMap((item): [string, string][] => {
      const found = /^\s*(type\s+)?([\w$]+)(?:\s+as\s+([\w$]+))?\s*$/.exec(item)
      return found && found[1] === undefined ? [[found[3] ?? found[2]!, found[2]!]] : []
    }),
  )
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

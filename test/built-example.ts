import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { buildFromSources } from './build-from-sources.js'

export interface BuiltExample {
  /** The program, for `node`. */
  readonly file: string
  remove(): void
}

/** An example of a package as a program. It meets the built packages, as a user's program does. */
export async function buildExample(packageFolder: string, name: string): Promise<BuiltExample> {
  const dist = path.join(packageFolder, 'dist')
  mkdirSync(dist, { recursive: true })
  // Only translated, and inside the package, whose name it imports.
  const folder = mkdtempSync(path.join(dist, '.example-'))
  await buildFromSources(folder, {
    entries: { [name]: path.join(packageFolder, 'examples', `${name}.ts`) },
    format: 'esm',
    extension: '.mjs',
    external: ['@pctodl/*'],
  })
  return {
    file: path.join(folder, `${name}.mjs`),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}

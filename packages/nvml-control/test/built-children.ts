import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))

export interface BuiltChildren {
  /** Path of a built program, by the name of its source. */
  file(name: string): string
  remove(): void
}

/**
 * Programs of this package, built from the sources so that they start fast, with the watchdog's program beside them.
 *
 * @param files paths in the package
 */
export async function buildChildren(...files: readonly string[]): Promise<BuiltChildren> {
  const scratch = path.join(packageFolder, 'node_modules')
  mkdirSync(scratch, { recursive: true })
  const folder = mkdtempSync(path.join(scratch, '.children-'))
  await build({
    config: false,
    silent: true,
    entry: {
      ...Object.fromEntries(files.map((file) => [path.basename(file, '.ts'), path.join(packageFolder, file)])),
      'restore-journal': path.join(packageFolder, 'src', 'restore-journal.ts'),
    },
    format: ['esm'],
    outDir: folder,
    outExtension: () => ({ js: '.js' }),
    platform: 'node',
    target: 'node20',
    noExternal: [/^@pctodl/],
    external: ['koffi', 'execa', 'zod', 'commander', 'cli-table3'],
    esbuildOptions(options) {
      options.conditions = ['@pctodl/source']
    },
  })
  return {
    file: (name) => path.join(folder, `${name}.js`),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}

import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildFromSources, programsFolder } from '../../../test/build-from-sources.js'

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
  const { folder, remove } = programsFolder(packageFolder, 'children')
  await buildFromSources(folder, {
    entries: {
      ...Object.fromEntries(files.map((file) => [path.basename(file, '.ts'), path.join(packageFolder, file)])),
      'restore-journal': path.join(packageFolder, 'src', 'restore-journal.ts'),
    },
    format: 'esm',
    extension: '.js',
    external: ['koffi', 'execa', 'zod', 'commander', 'cli-table3'],
  })
  return { file: (name) => path.join(folder, `${name}.js`), remove }
}

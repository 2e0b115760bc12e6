import path from 'node:path'
import type { ViteUserConfig } from 'vitest/config'
import type { VitestPluginContext } from 'vitest/node'
import { localFile, specifiersOf } from './local-imports.js'

const root = path.resolve(import.meta.dirname, '..')

/** Where the imports of a module lead: a kept module holds their paths, which a renamed or added file changes. */
export function importsKey({ id, sourceCode }: { readonly id: string; readonly sourceCode: string }): string {
  return specifiersOf(sourceCode)
    .map((specifier) => `${specifier} ${localFile(root, id, specifier) ?? ''}\n`)
    .join('')
}

/** Makes vitest look a kept module up by where its imports lead, besides its source. */
export const moduleKeys: NonNullable<ViteUserConfig['plugins']>[number] = {
  name: 'pctodl-module-keys',
  configureVitest({ experimental_defineCacheKeyGenerator }: VitestPluginContext) {
    experimental_defineCacheKeyGenerator(importsKey)
  },
}

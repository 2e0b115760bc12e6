import path from 'node:path'
import type { ViteUserConfig } from 'vitest/config'
import type { VitestPluginContext } from 'vitest/node'
import { localFile, specifiersOf } from './local-imports.js'

const root = path.resolve(import.meta.dirname, '..')

/**
 * Key made of the files to which a module's imports resolve. A cached module contains these paths, so the cache must
 * notice a renamed or added file.
 */
export function importsKey({ id, sourceCode }: { readonly id: string; readonly sourceCode: string }): string {
  return specifiersOf(sourceCode)
    .map((specifier) => `${specifier} ${localFile(root, id, specifier) ?? ''}\n`)
    .join('')
}

/** Vitest plugin that adds this key to the cache key of a module, besides the module's source. */
export const moduleKeys: NonNullable<ViteUserConfig['plugins']>[number] = {
  name: 'pctodl-module-keys',
  configureVitest({ experimental_defineCacheKeyGenerator }: VitestPluginContext) {
    experimental_defineCacheKeyGenerator(importsKey)
  },
}

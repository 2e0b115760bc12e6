import { fileURLToPath } from 'node:url'
import type { Options } from 'tsup'
import { emitDeclarations } from './scripts/emit-declarations.js'
import { keepDynamicImports } from './scripts/keep-dynamic-imports.js'

const moduleUrlShim = fileURLToPath(new URL('scripts/import-meta-url.js', import.meta.url))

/** Value that a package's `tsup.config.ts` exports: one build or several. */
export type PackageBuild = Options | Options[]

/** The build that all libraries share: ESM, CommonJS and their types, from `src/index.ts`. */
export function libraryBuild(overrides: Options = {}): Options {
  return {
    entry: ['src/index.ts'],
    format: ['esm', 'cjs'],
    target: 'node20',
    platform: 'node',
    // tsup does not make declarations, because bundling them takes ten times as long as the code.
    dts: false,
    onSuccess: async () => {
      keepDynamicImports('dist')
      emitDeclarations(process.cwd())
    },
    clean: true,
    // The code is not minified, so that stack traces are readable without source maps. Maps took more than half of each
    // tarball.
    sourcemap: false,
    splitting: true,
    // Code finds files beside it with `import.meta.url`, which CommonJS lacks. tsup's own shims would add `node:path`
    // and `node:url` to each ESM entry, so that a browser could not bundle the cores.
    shims: false,
    esbuildOptions(options, { format }) {
      if (format !== 'cjs') return
      options.define = { ...options.define, 'import.meta.url': 'importMetaUrl' }
      options.inject = [...(options.inject ?? []), moduleUrlShim]
    },
    ...overrides,
  }
}

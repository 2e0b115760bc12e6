import { fileURLToPath } from 'node:url'
import type { Options } from 'tsup'
import { emitDeclarations } from './scripts/emit-declarations.js'

const moduleUrlShim = fileURLToPath(new URL('scripts/import-meta-url.js', import.meta.url))

/** What a package's `tsup.config.ts` exports: a build, or several. */
export type PackageBuild = Options | Options[]

/** The build every library of the family shares: ESM + CJS + types of both, from `src/index.ts`. */
export function libraryBuild(overrides: Options = {}): Options {
  return {
    entry: ['src/index.ts'],
    format: ['esm', 'cjs'],
    target: 'node20',
    platform: 'node',
    // tsup would bundle declarations, which costs ten times what the code does.
    dts: false,
    onSuccess: async () => emitDeclarations(process.cwd()),
    clean: true,
    // The code is not minified: its traces can be read as they are, and maps were more than half of each tarball.
    sourcemap: false,
    splitting: true,
    // Code finds what lies beside it by `import.meta.url`, which CommonJS does not have. tsup's own shims would put
    // `node:path` and `node:url` into each ESM entry as well, and a page could not bundle the cores.
    shims: false,
    esbuildOptions(options, { format }) {
      if (format !== 'cjs') return
      options.define = { ...options.define, 'import.meta.url': 'importMetaUrl' }
      options.inject = [...(options.inject ?? []), moduleUrlShim]
    },
    ...overrides,
  }
}

import { defineConfig, type Options } from 'tsup'

/** The build every library of the family shares: ESM + CJS + types of both, from `src/index.ts`. */
export function libraryBuild(overrides: Options = {}) {
  return defineConfig({
    entry: ['src/index.ts'],
    format: ['esm', 'cjs'],
    target: 'node20',
    platform: 'node',
    dts: true,
    clean: true,
    sourcemap: true,
    splitting: true,
    treeshake: true,
    ...overrides,
  })
}

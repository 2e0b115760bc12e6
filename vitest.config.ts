import { defineConfig } from 'vitest/config'

// Tests import the sources of the workspace (the `@pctodl/source` export condition), so a test never runs against a stale
// build. The end-to-end tests spawn the built command lines on purpose.
export default defineConfig({
  resolve: { conditions: ['@pctodl/source'] },
  ssr: { resolve: { conditions: ['@pctodl/source'], externalConditions: ['@pctodl/source'] } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})

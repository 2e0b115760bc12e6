/** Configuration of the vitest process that `runTests` starts. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { BaseSequencer, type TestModule, type TestSpecification } from 'vitest/node'
import type { ChangedSource } from './run-tests.js'

/**
 * Time limit for a test that waits for something that a mutant prevents, ms. It is much longer than any test takes,
 * even on a loaded machine.
 */
const TEST_TIMEOUT_MS = 8 * 60_000

interface Request {
  readonly sources: readonly ChangedSource[]
  readonly tests: readonly string[]
  readonly limitBytes: number
}

const root = path.resolve(import.meta.dirname, '../..')
const folder = process.env['PCTODL_MUTANT']!
const { sources, tests, limitBytes }: Request = JSON.parse(readFileSync(path.join(folder, 'request.json'), 'utf8'))
const conditions = ['@pctodl/source']

// The limit applies to the whole process, because a limit of the heap does not include typed arrays.
setInterval(() => process.memoryUsage.rss() > limitBytes && process.exit(1), 250).unref()

class GivenOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.sort((a, b) => tests.indexOf(a.moduleId) - tests.indexOf(b.moduleId))
  }
}

const config: ViteUserConfig = defineConfig({
  root,
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      load: (id) => sources.find(({ file }) => file === id.split('?')[0])?.text,
    },
  ],
  test: {
    include: [...tests],
    setupFiles: [path.join(root, 'test/property-runs.ts'), path.join(import.meta.dirname, 'test-setup.ts')],
    pool: 'threads',
    maxWorkers: 1,
    isolate: false,
    bail: 1,
    sequence: { sequencer: GivenOrder },
    testTimeout: TEST_TIMEOUT_MS,
    hookTimeout: TEST_TIMEOUT_MS,
    reporters: [
      {
        onTestRunEnd(modules: readonly TestModule[]) {
          const { user, system } = process.cpuUsage()
          const reached = modules.flatMap((module) => (module.meta() as { reached?: number[] }).reached ?? [])
          writeFileSync(path.join(folder, 'report.json'), JSON.stringify({ cpuS: (user + system) / 1e6, reached }))
        },
      },
    ],
  },
})

export default config

/**
 * Process that keeps vitest loaded. It receives sources that replace those on disk and tests to run, and answers
 * whether a test fails. Only the imports of the tests see the replaced sources. A mutant may loop for ever or fill the
 * memory. If the tests exceed a limit, the process exits, and the caller must be ready to start another one.
 */
import path from 'node:path'
import { BaseSequencer, createVitest, type TestCase, type TestSpecification, type Vitest } from 'vitest/node'
import {
  LIMIT_REACHED,
  MEMORY_TAKEN,
  type ReachedMeta,
  type ReachingCase,
  type TestAnswer,
  type TestRequest,
} from './test-host-protocol.js'

/**
 * Time limit for a test that waits for something that a mutant prevents, ms. It is much longer than any test takes,
 * even on a loaded machine.
 */
const TEST_TIMEOUT_MS = 8 * 60_000
const WATCHED_EACH_MS = 250

/** Keeps the tests in the requested order. */
class GivenOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files
  }
}

const root = path.resolve(import.meta.dirname, '../..')
const conditions = ['@pctodl/source']
let sources: TestRequest['sources'] = []

async function warmVitest(): Promise<Vitest> {
  return createVitest(
    'test',
    {
      root,
      config: false,
      watch: false,
      include: ['packages/*/test/**/*.test.ts', 'test/contract/**/*.test.ts'],
      setupFiles: [
        path.join(import.meta.dirname, 'report-reached.ts'),
        path.join(root, 'test/property-runs.ts'),
        path.join(import.meta.dirname, 'fail-at-once.ts'),
      ],
      pool: 'threads',
      maxWorkers: 1,
      isolate: false,
      bail: 1,
      reporters: [{}],
      sequence: { sequencer: GivenOrder },
      testTimeout: TEST_TIMEOUT_MS,
      hookTimeout: TEST_TIMEOUT_MS,
      // A mutant may leave a rejected promise that no code awaits; it counts as a failure.
      dangerouslyIgnoreUnhandledErrors: false,
    },
    {
      resolve: { conditions },
      ssr: { resolve: { conditions, externalConditions: conditions } },
      plugins: [
        {
          name: 'mutant',
          enforce: 'pre',
          load: (id) => sources.find(({ file }) => file === id.split('?')[0])?.text,
        },
      ],
    },
  )
}

async function answer(vitest: Vitest, request: TestRequest): Promise<TestAnswer> {
  for (const { file } of [...sources, ...request.sources]) vitest.invalidateFile(file)
  sources = request.sources
  // Clears the results of earlier runs, whose failures would otherwise count for this run.
  vitest.state.filesMap.clear()
  vitest.state.idMap.clear()
  vitest.state.errorsSet.clear()
  const before = process.cpuUsage()
  const cpuMs = () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
  const { limitCpuMs, limitBytes = 4 * 2 ** 30 } = request
  const watch = setInterval(() => {
    // The limit applies to the whole process, because a limit of the heap does not include typed arrays.
    if (process.memoryUsage.rss() > limitBytes) process.exit(MEMORY_TAKEN)
    if (cpuMs() > limitCpuMs) process.exit(LIMIT_REACHED)
  }, WATCHED_EACH_MS)
  try {
    const [project] = vitest.projects
    const specifications = request.tests.map(({ file, cases }) =>
      project!.createSpecification(file, cases && { testIds: [...cases] }),
    )
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
    const ours = testModules.filter(({ moduleId }) => request.tests.some(({ file }) => file === moduleId))
    const reached = ours.flatMap((testModule) => (testModule.meta() as ReachedMeta).reached ?? [])
    const cases = ours.flatMap((testModule) => [...testModule.children.allTests()].flatMap(reachingCase))
    const failure = ours.map(failureOf).find((found) => found !== null) ?? null
    const [error] = unhandledErrors
    const told = failure ?? (error === undefined ? null : String(error))
    return { passed: told === null, failure: told, cpuMs: cpuMs(), reached, cases }
  } finally {
    clearInterval(watch)
  }
}

type TestModule = Awaited<ReturnType<Vitest['runTestSpecifications']>>['testModules'][number]

function reachingCase(testCase: TestCase): ReachingCase[] {
  const { reached } = testCase.meta() as ReachedMeta
  return reached ? [{ id: testCase.id, durationMs: testCase.diagnostic()?.duration ?? 0, reached }] : []
}

function failureOf(testModule: TestModule): string | null {
  for (const test of testModule.children.allTests('failed')) {
    return `${test.fullName}: ${test.result().errors?.[0]?.message}`
  }
  return testModule.ok() ? null : (testModule.errors()[0]?.message ?? 'not loaded')
}

const vitest = await warmVitest()
process.on('message', async (request: TestRequest) => {
  process.send!(await answer(vitest, request))
})
process.on('disconnect', () => process.exit())
process.send!('ready')

import { writeSync } from 'node:fs'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { allowedSkipsHere } from './allowed-skips.js'

const STANDARD_OUTPUT = 1

/**
 * Prints the end of a test run for people and for scripts: a line for each file with a failure and for each reason to
 * skip, then one last line such as
 *
 *   1234 passed, 0 failed, 5 skipped
 *
 * Files that cannot be loaded and errors outside of tests count as failed. So does a skipped test that is not on the
 * list that `PCTODL_ALLOWED_SKIPS` names. A run that is interrupted or crashes, or whose exit code does not fit its
 * tests, ends without the last line.
 */
export default class SummaryReporter implements Reporter {
  #failed = 0
  #lines: readonly string[] = []
  readonly #allowed: ReadonlyMap<string, number> | undefined = allowedSkipsHere()

  onInit(): void {
    process.once('exit', (code) => {
      if (this.#lines.length === 0 || (code === 0) !== (this.#failed === 0)) return
      // Written synchronously, because asynchronous output may be lost at exit.
      writeSync(STANDARD_OUTPUT, `${this.#lines.join('\n')}\n`)
    })
  }

  onTestRunStart(): void {
    this.#lines = []
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[], reason: string): void {
    if (reason === 'interrupted') return
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const inState = (state: string) => tests.filter((test) => test.result().state === state)
    const skipped = inState('skipped')
    const failures = new Map(modules.map((module) => [module.relativeModuleId, failuresIn(module)]))
    const reasons = skipReasons(skipped)
    const unlisted = [...reasons]
      .map(([why, count]) => ({ why, count: count - (this.#allowed?.get(why) ?? (this.#allowed ? 0 : count)) }))
      .filter(({ count }) => count > 0)
    this.#failed = [...failures.values(), ...unlisted.map(({ count }) => count)].reduce(
      (sum, count) => sum + count,
      unhandledErrors.length,
    )
    if (unlisted.length > 0) process.exitCode = 1
    this.#lines = [
      ...[...failures].filter(([, count]) => count > 0).map(([file]) => `failed in ${file}`),
      ...(unhandledErrors.length > 0 ? ['failed outside of tests'] : []),
      ...[...reasons].map(([why, count]) => `skipped ${count}: ${why}`),
      ...unlisted.map(({ why, count }) => `skipped ${count} more than the list of allowed skips says: ${why}`),
      `${inState('passed').length} passed, ${this.#failed} failed, ${skipped.length} skipped`,
    ]
  }
}

/** Number of failed tests and suites, plus 1 if the file does not load. A test that did not end counts as failed. */
function failuresIn(module: TestModule): number {
  const tests = [...module.children.allTests()].filter((test) => ['failed', 'pending'].includes(test.result().state))
  const suites = [...module.children.allSuites()].filter(hasErrors)
  return tests.length + suites.length + (hasErrors(module) ? 1 : 0)
}

function hasErrors(suite: { errors(): readonly unknown[] }): boolean {
  return suite.errors().length > 0
}

/** Number of skipped tests by reason. */
function skipReasons(tests: readonly TestCase[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const test of tests) {
    const why = skipReason(test)
    counts.set(why, (counts.get(why) ?? 0) + 1)
  }
  return counts
}

/**
 * Reason for which a test was skipped: the note given to `skip`, or the text in parentheses in the name of the test or
 * of a group around it.
 */
function skipReason(test: TestCase): string {
  const result = test.result()
  if (result.state === 'skipped' && result.note !== undefined) return result.note
  const said = [...test.fullName.matchAll(/\(([^()]+)\)/g)].map(([, text]) => text!)
  const marked = said.find((text) => text.startsWith('skipped'))
  return (marked ?? said.at(-1))?.replace(/^skipped:? ?/, '') || `${test.module.relativeModuleId} does not say why`
}

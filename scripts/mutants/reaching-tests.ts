import type { RequestedTests, TestAnswer } from './test-host-protocol.js'

/** A test file, its CPU time, and the mutants that it reaches. */
export interface KnownTests {
  readonly file: string
  readonly answer: TestAnswer
}

/**
 * Selects the tests that reach a mutant, those with the least CPU time first, because the first tests detect most
 * mutants. Cases of a file that do not reach the mutant are left out. If code outside of cases reaches it, all cases
 * are selected, because any of them may be affected.
 *
 * @param index index of the mutant's mark; null if loading the module reaches the mutant
 */
export function reachingTests(known: readonly KnownTests[], index: number | null): RequestedTests[] {
  return known
    .map(({ file, answer: { reached, cases, cpuMs } }) => {
      const always = index === null || reached.includes(index)
      const some = cases.filter((each) => always || each.reached.includes(index))
      const part = durationOf(some) / Math.max(Number.MIN_VALUE, durationOf(cases))
      const asked: RequestedTests =
        always || some.length === cases.length ? { file } : { file, cases: some.map(({ id }) => id) }
      return { asked, cpuMs: cpuMs * part, reaches: always || some.length > 0 }
    })
    .filter(({ reaches }) => reaches)
    .sort((a, b) => a.cpuMs - b.cpuMs)
    .map(({ asked }) => asked)
}

/**
 * The remaining cases of files of which only some cases were selected. A case may depend on what another case has
 * created, such as a shared object or a file.
 */
export function otherCases(known: readonly KnownTests[], asked: readonly RequestedTests[]): RequestedTests[] {
  return asked.flatMap(({ file, cases }) => {
    const all = known.find((each) => each.file === file)!.answer.cases.map(({ id }) => id)
    return cases ? [{ file, cases: all.filter((id) => !cases.includes(id)) }] : []
  })
}

function durationOf(cases: TestAnswer['cases']): number {
  return cases.reduce((sum, { durationMs }) => sum + durationMs, 0)
}

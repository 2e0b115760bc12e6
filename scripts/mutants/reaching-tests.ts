import type { RequestedTests, TestAnswer } from './test-host-protocol.js'

/** A test file, what it computes and what of the marked mutants it reaches. */
export interface KnownTests {
  readonly file: string
  readonly answer: TestAnswer
}

/**
 * What of the tests reaches a mutant, what computes least first: most mutants end with that. A file's cases that do not reach it
 * are left out, unless it is reached outside of cases, where all that follow may see it.
 *
 * @param index of its mark, null for one that is reached by loading its module
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

/** Of the files of which some cases were asked, the others: a case may hang on what another one left, be it made once for all or a file. */
export function otherCases(known: readonly KnownTests[], asked: readonly RequestedTests[]): RequestedTests[] {
  return asked.flatMap(({ file, cases }) => {
    const all = known.find((each) => each.file === file)!.answer.cases.map(({ id }) => id)
    return cases ? [{ file, cases: all.filter((id) => !cases.includes(id)) }] : []
  })
}

function durationOf(cases: TestAnswer['cases']): number {
  return cases.reduce((sum, { durationMs }) => sum + durationMs, 0)
}

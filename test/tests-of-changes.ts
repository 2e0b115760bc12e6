import { readdirSync } from 'node:fs'
import path from 'node:path'
import { RelatedTests } from './related-tests.js'

/** Test files, relative to the root. */
export interface TestsOfChanges {
  /** Those to run at once, with their time, s. */
  readonly chosen: readonly string[]
  readonly seconds: number
  /** Others that may notice the changes. */
  readonly left: readonly string[]
  /** Changed files that no test imports: documents, data, programs. */
  readonly unused: readonly string[]
}

/** Assumed time of a test file that has not run on this machine, s. */
const UNKNOWN_S = 1

/** Time to import the modules of another package, s. */
const IMPORT_S = 1

/**
 * Chooses the tests that most likely notice changes, until their time is used up. First come changed tests, then tests of the changed
 * packages and of the contract that use a changed file: those named after it, then the quickest. Last come tests of other packages,
 * the closest first.
 *
 * @param changed files, relative to the root
 * @param durations s, by test file
 * @param seconds time for all tests together
 * @param isPure whether a test file only computes; others never run at once
 */
export function testsOfChanges(
  root: string,
  changed: readonly string[],
  durations: ReadonlyMap<string, number>,
  seconds: number,
  isPure: (test: string) => boolean,
): TestsOfChanges {
  const related = new RelatedTests(root)
  const ofRoot = related.testsIn('.')
  const contract = ofRoot.filter((file) => file.includes('/test/contract/'))
  const ofPackages = readdirSync(path.join(root, 'packages')).flatMap((name) => related.testsOf(name))
  const found = changed.map((file) => {
    const [folder, name] = file.split('/')
    const importers = (among: readonly string[]) =>
      related.importersOf(path.join(root, file), among).map((test) => path.relative(root, test))
    return folder === 'packages'
      ? { file, near: importers([...related.testsOf(name!), ...contract]), far: importers(ofPackages) }
      : { file, near: importers(ofRoot), far: [] }
  })
  const near = found.flatMap((each) => each.near)
  const far = found.flatMap((each) => each.far)
  const unused = found.filter((each) => each.near.length + each.far.length === 0).map(({ file }) => file)
  const timeOf = (test: string) =>
    test.endsWith('.slow.test.ts') || !isPure(test) ? Number.POSITIVE_INFINITY : (durations.get(test) ?? UNKNOWN_S)
  const names = new Set(changed.map(nameOf))
  const order = (test: string) => (changed.includes(test) ? -2 : names.has(nameOf(test)) ? -1 : timeOf(test))
  const chosen: string[] = []
  const left: string[] = []
  let used = 0
  for (const test of new Set([...near.sort((a, b) => order(a) - order(b)), ...far])) {
    const after = used + timeOf(test) + (near.includes(test) ? 0 : IMPORT_S)
    const runs = after <= seconds || (changed.includes(test) && Number.isFinite(after))
    if (runs) used = after
    ;(runs ? chosen : left).push(test)
  }
  return { chosen, seconds: used, left, unused }
}

/** Name of a source and of the test that is named after it. */
function nameOf(file: string): string {
  return path.basename(file).replace(/(\.slow)?(\.test)?\.[cm]?[jt]sx?$/, '')
}

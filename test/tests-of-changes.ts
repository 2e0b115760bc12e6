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
}

/** Assumed time of a test file that has not run on this machine, s. */
const UNKNOWN_S = 1

/** Time to import the modules of another package, s. */
const IMPORT_S = 1

/**
 * Chooses the tests that most likely notice changes, until their time is used up. First come changed tests, then tests of the changed
 * packages and of the contract that use a changed file, the quickest first, then tests of other packages, the closest first.
 *
 * @param changed files, relative to the root
 * @param durations s, by test file; infinite for files that never run at once
 * @param seconds time for all tests together
 */
export function testsOfChanges(
  root: string,
  changed: readonly string[],
  durations: ReadonlyMap<string, number>,
  seconds: number,
): TestsOfChanges {
  const related = new RelatedTests(root)
  const ofRoot = related.testsIn('.')
  const contract = ofRoot.filter((file) => file.includes('/test/contract/'))
  const ofPackages = readdirSync(path.join(root, 'packages')).flatMap((name) => related.testsOf(name))
  const using = (among: (folder: string, name: string) => readonly string[]) =>
    changed.flatMap((file) => {
      const [folder, name] = file.split('/')
      const tests = related.importersOf(path.join(root, file), among(folder!, name!))
      return tests.map((test) => path.relative(root, test))
    })
  const timeOf = (test: string) =>
    test.endsWith('.slow.test.ts') ? Number.POSITIVE_INFINITY : (durations.get(test) ?? UNKNOWN_S)
  const order = (test: string) => (changed.includes(test) ? 0 : timeOf(test))
  const near = using((folder, name) => (folder === 'packages' ? [...related.testsOf(name), ...contract] : ofRoot))
  const far = using((folder) => (folder === 'packages' ? ofPackages : []))
  const chosen: string[] = []
  const left: string[] = []
  let used = 0
  for (const test of new Set([...near.sort((a, b) => order(a) - order(b)), ...far])) {
    const after = used + timeOf(test) + (near.includes(test) ? 0 : IMPORT_S)
    const runs = after <= seconds || (changed.includes(test) && Number.isFinite(after))
    if (runs) used = after
    ;(runs ? chosen : left).push(test)
  }
  return { chosen, seconds: used, left }
}

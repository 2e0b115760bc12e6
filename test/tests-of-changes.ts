/**
 * Prints the test files that most likely notice what differs from `main`: tests of the changed packages and of the contract that
 * use a changed file. Tests of other packages run in `npm test`.
 */
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { RelatedTests } from './related-tests.js'

const root = path.resolve(import.meta.dirname, '..')
const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n')
const changed = [...git('diff', '--name-only', 'main'), ...git('ls-files', '--others', '--exclude-standard')]

const related = new RelatedTests(root)
const ofRoot = related.testsIn('.')
const contract = ofRoot.filter((file) => file.includes('/test/contract/'))
const tests = changed.filter(Boolean).flatMap((file) => {
  const [folder, name] = file.split('/')
  const near = folder === 'packages' ? [...related.testsOf(name!), ...contract] : ofRoot
  return related.importersOf(path.join(root, file), near)
})
// A word that no file has in it: without one, all tests would run.
console.log([...new Set(tests), 'nothing-changed'].map((file) => path.relative(root, file)).join(' '))

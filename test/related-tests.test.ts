import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { RelatedTests } from './related-tests.js'

const root = mkdtempSync(path.join(tmpdir(), 'related-tests-'))
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))

const sources = {
  'packages/a/src/index.ts': "export { one } from './one.js'\nexport { type Two, two as second } from './two.js'",
  'packages/a/src/one.ts': "import type { Two } from './two.js'\nexport const one: Two = 1",
  'packages/a/src/two.ts': "import { three } from './three.js'\nexport type Two = number\nexport const two = three",
  'packages/a/src/three.ts': 'export const three = 3',
  'packages/b/src/index.ts': "export { second } from '@pctodl/a'\nexport const own = 4",
  'packages/a/test/one.test.ts': "import { one } from '../src/index.js'",
  'packages/a/test/two.test.ts': "import { two } from '../src/two.js'",
  'packages/a/test/all.test.ts': "import * as all from '../src/index.js'",
  'packages/a/test/type.test.ts': "import { type Two } from '../src/index.js'",
  'packages/b/test/second.test.ts': "import { second } from '../src/index.js'",
  'packages/b/test/own.test.ts': "import { own } from '../src/index.js'",
}
for (const [file, text] of Object.entries(sources)) {
  mkdirSync(path.join(root, path.dirname(file)), { recursive: true })
  writeFileSync(path.join(root, file), text)
}

describe('the tests that a change may reach', () => {
  const related = new RelatedTests(root)
  const tests = [...related.testsOf('a'), ...related.testsOf('b')]
  const of = (file: string) =>
    related.importersOf(path.join(root, 'packages', file), tests).map((test) => path.basename(test, '.test.ts'))

  it.each([
    ['a/src/one.ts', ['all', 'one']],
    // What has code of its own beside what it hands on is taken whole.
    ['a/src/two.ts', ['second', 'two', 'all', 'own']],
    ['a/src/three.ts', ['second', 'two', 'all', 'own']],
    ['a/src/index.ts', ['one', 'second', 'all', 'own']],
    ['b/src/index.ts', ['second', 'own']],
  ])('of %s are those that use a value of it', (file, expected) => {
    expect(of(file).sort()).toEqual(expected.sort())
  })

  it('begin with the nearest', () => {
    const distances = ['two', 'all']
    expect(of('a/src/two.ts').filter((test) => distances.includes(test))).toEqual(distances)
  })
})

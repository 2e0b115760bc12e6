import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testsOfChanges } from './tests-of-changes.js'

const root = mkdtempSync(path.join(tmpdir(), 'tests-of-changes-'))
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))

function write(file: string, text: string): void {
  mkdirSync(path.join(root, path.dirname(file)), { recursive: true })
  writeFileSync(path.join(root, file), text)
}

const tests = ['quick', 'usual', 'long', 'program', 'all.slow'].map((name) => `packages/a/test/${name}.test.ts`)
const contract = 'test/contract/near.test.ts'
const far = 'packages/b/test/far.test.ts'
const [quick, usual, long, program, slow] = tests as [string, string, string, string, string]

beforeAll(() => {
  write('packages/a/src/index.ts', "import './long.js'\nexport const one = 1\n")
  write('packages/a/src/long.ts', '')
  for (const test of tests) write(test, "import { one } from '../src/index.js'\n")
  write(far, "import { one } from '@pctodl/a'\n")
  write(contract, "import { one } from '@pctodl/a'\n")
})

describe('the tests of a change', () => {
  const durations = new Map([
    [quick, 0.5],
    [usual, 2],
    [long, 4],
    [slow, 0.1],
    [contract, 0.1],
  ])
  const of = (changed: string, seconds: number) =>
    testsOfChanges(root, [changed], durations, seconds, (test) => test !== program)

  it('are the quickest that use it, within the time', () => {
    expect(of('packages/a/src/index.ts', 3)).toEqual({
      chosen: [contract, quick, usual],
      seconds: 2.6,
      left: [long, slow, program, far],
      unused: [],
    })
    expect(of('packages/a/src/index.ts', 1.5).chosen).toEqual([contract, quick])
  })

  it('are those of other packages where time remains', () => {
    const near = [contract, quick, usual, long]
    expect(of('packages/a/src/index.ts', 9).chosen).toEqual([...near, far])
    // The import of another package's modules takes time, too.
    expect(of('packages/a/src/index.ts', 8).chosen).toEqual(near)
  })

  it('are first the one that is named after it', () => {
    expect(of('packages/a/src/long.ts', 4.2).chosen).toEqual([long, contract])
  })

  it('include a changed test, whatever its time', () => {
    expect(of(long, 3)).toMatchObject({ chosen: [long], seconds: 4, left: [] })
  })

  it('leave a test that starts processes, though nothing is known of its time', () => {
    expect(of(program, 3)).toMatchObject({ chosen: [], seconds: 0, left: [program] })
  })

  it('name what none of them imports', () => {
    expect(of('packages/a/README.md', 3)).toEqual({
      chosen: [],
      seconds: 0,
      left: [],
      unused: ['packages/a/README.md'],
    })
  })
})

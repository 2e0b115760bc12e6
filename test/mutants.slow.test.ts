import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { markedSource, mutantsOf } from '../scripts/mutants/mutants-of.js'
import { MARK, runTests } from '../scripts/mutants/run-tests.js'

const root = path.resolve(import.meta.dirname, '..')
/** Enough for the test itself, and soon full. */
const ENOUGH_BYTES = 2 ** 30
const inRoot = (file: string) => path.join(root, file)

function variants(source: string): string[] {
  return mutantsOf('a.ts', source).map(
    ({ start, end, replacement }) => source.slice(0, start) + replacement + source.slice(end),
  )
}

describe('the mutants of a source', () => {
  it('turn operators, comparisons and conditions round', () => {
    expect(variants('const y = a < b && c')).toEqual(['const y = a < b || c', 'const y = a <= b && c'])
    expect(variants('const y = a ? b : c')).toEqual(['const y = !(a) ? b : c'])
    expect(variants('const y = Math.min(a, b)')).toEqual(['const y = Math.max(a, b)'])
    expect(variants('if (a) { f = -b }')).toEqual([
      'if (true) { f = -b }',
      'if (false) { f = -b }',
      'if (a) { ; }',
      'if (a) { f =  b }',
    ])
  })

  it('change numbers and truth values, and leave statements out', () => {
    expect(variants('const y = 3')).toEqual(['const y = 4'])
    expect(variants('const y = 0.5')).toEqual(['const y = 1'])
    expect(variants('const y = true')).toEqual(['const y = false'])
    expect(variants('f(x)')).toEqual([';'])
  })

  it('are none of types, imports, texts, or what is thrown', () => {
    expect(variants("import a from 'a'\ntype T = 1 | 2\ninterface I { a: 3 }\nconst s = 'a' + b")).toEqual([])
    expect(variants('if (a) throw new E(1 + 2)')).toEqual(['if (false) throw new E(1 + 2)'])
  })

  it('say where they are and what changes', () => {
    expect(mutantsOf('a.ts', '\nconst y = a - b')).toMatchObject([{ line: 2, change: 'a - b -> a + b' }])
  })

  it('are marked where what is around them runs, and not where that is the module', () => {
    const marked = (source: string) => markedSource(source, mutantsOf('a.ts', source), 'M')
    expect(marked('const y = a - b')).toBe('const y = a - b')
    expect(marked('function f(x) { if (c) { return x - 1 } }')).toBe(
      'function f(x) { M(0);M(1);if (c) { M(2);M(3);return x - 1 } }',
    )
    expect(marked('const f = (x) => x - 1')).toBe('const f = (x) => (M(0), (M(1), x - 1))')
    expect(marked('class C { x = 1; get y() { return -this.x } }')).toBe(
      'class C { x = 1; get y() { M(1);return -this.x } }',
    )
    expect(marked('function f(x) { if (c) x++; else g(x, () => !x) }')).toBe(
      'function f(x) { M(0);M(1);M(2);M(3);if (c) x++; else g(x, () => (M(4), !x)) }',
    )
  })
})

describe('the tests that run against a mutant', () => {
  const file = inRoot('packages/published/src/dvfs/published-pid.ts')
  const own = inRoot('packages/published/test/dvfs/published-pid.test.ts')
  const other = inRoot('packages/thermo-dvfs/test/blind-step-down.test.ts')
  const source = readFileSync(file, 'utf8')
  const run = (from: string, to: string, tests: readonly string[] = [own], limitCpuS = 120, limitBytes?: number) => {
    expect(source).toContain(from)
    return runTests([{ file, text: source.replace(from, to) }], tests, limitCpuS, limitBytes)
  }

  it('fail where a mutant shows, and pass where it is not reached', async () => {
    expect(await run('kp: 7e-4', 'kp: 8e-4')).toMatchObject({ ending: 'failed' })
    expect(await run('kp: 7e-4', 'kp: 8e-4', [other])).toMatchObject({ ending: 'passed', reached: [] })
  })

  it('say which marks they reach, and what they compute', async () => {
    const marked = `${MARK}(7);const delta =`
    const reaching = await run('const delta =', marked, [own], 120, ENOUGH_BYTES)
    expect(reaching).toMatchObject({ ending: 'passed', reached: [7] })
    expect(reaching.cpuS).toBeGreaterThan(0)
  })

  it('are ended where a mutant never returns, or takes more and more memory', async () => {
    const forEver = 'for (;;) {}\n    const delta ='
    expect(await run('const delta =', forEver, [own], 4)).toMatchObject({ ending: 'timeout' })
    const more = 'const all = []; for (;;) all.push(new Uint8Array(2 ** 24).fill(1))\n    const delta ='
    expect(await run('const delta =', more, [own], 60, ENOUGH_BYTES)).toMatchObject({ ending: 'failed' })
  })
})

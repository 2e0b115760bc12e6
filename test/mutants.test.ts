import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { markedSource, mutantsOf } from '../scripts/mutants/mutants-of.js'
import { otherCases, reachingTests } from '../scripts/mutants/reaching-tests.js'
import { TestHostProcess } from '../scripts/mutants/test-host-process.js'
import { MARK, type TestAnswer } from '../scripts/mutants/test-host-protocol.js'
import { RelatedTests } from '../scripts/related-tests.js'

const root = path.resolve(import.meta.dirname, '..')
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

describe('the tests of a source', () => {
  const related = new RelatedTests(root)

  it('are those of its package that import it, the nearest first', () => {
    const tests = related.testsOf('perf-model')
    const importers = related.importersOf(inRoot('packages/perf-model/src/fit/kriging.ts'), tests)
    const names = importers.map((test) => path.basename(test))
    expect(names[0]).toBe('kriging.test.ts')
    expect(names).toContain('fit-perf-model.test.ts')
    const stranger = inRoot('packages/platform/test/readme.test.ts')
    expect(related.importersOf(inRoot('packages/perf-model/src/fit/kriging.ts'), [stranger])).toEqual([])
  })
})

describe('the tests that reach a mutant', () => {
  const of = (file: string, cpuMs: number, reached: readonly number[], cases: readonly (readonly number[])[]) => ({
    file,
    answer: {
      passed: true,
      failure: null,
      cpuMs,
      reached,
      cases: cases.map((each, i) => ({ id: `${file}${i}`, durationMs: 10, reached: each })),
    },
  })
  const known = [of('a', 400, [], [[1], [1, 2]]), of('b', 300, [3], [[], []]), of('c', 500, [], [[], [], [2], []])]

  it('are the cases in which it ran, what computes least first', () => {
    expect(reachingTests(known, 2)).toEqual([
      { file: 'c', cases: ['c2'] },
      { file: 'a', cases: ['a1'] },
    ])
    expect(reachingTests(known, 1)).toEqual([{ file: 'a' }])
  })

  it('leave the other cases of their files for when they notice nothing', () => {
    expect(otherCases(known, reachingTests(known, 2))).toEqual([
      { file: 'c', cases: ['c0', 'c1', 'c3'] },
      { file: 'a', cases: ['a0'] },
    ])
    expect(otherCases(known, reachingTests(known, 3))).toEqual([])
  })

  it('are all of a file where it ran outside of them, and all files where its module is all that it is in', () => {
    expect(reachingTests(known, 3)).toEqual([{ file: 'b' }])
    expect(reachingTests(known, null)).toEqual([{ file: 'b' }, { file: 'a' }, { file: 'c' }])
    expect(reachingTests(known, 4)).toEqual([])
  })
})

// Seconds of computing are minutes beside many busy processes.
describe('the process that runs tests on mutants', () => {
  const host = new TestHostProcess()
  afterAll(() => host.close())
  const file = inRoot('packages/published/src/dvfs/published-pid.ts')
  const tests = [inRoot('packages/published/test/dvfs/published-pid.test.ts')]
  const source = readFileSync(file, 'utf8')
  const limitCpuMs = 30_000
  const ask = (text: string | null, asked: readonly string[] = tests, limit = limitCpuMs) =>
    host.ask({
      sources: text === null ? [] : [{ file, text }],
      tests: asked.map((test) => ({ file: test })),
      limitCpuMs: limit,
    })
  const asked = (from: string, to: string, limit?: number) => {
    expect(source).toContain(from)
    return ask(source.replace(from, to), tests, limit)
  }

  const answered = (answer: TestAnswer | 'timeout'): TestAnswer => {
    if (answer === 'timeout') throw new Error('no answer')
    return answer
  }

  it('leaves nothing of a test whose cases are all left out', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-mutants-test-'))
    vi.stubEnv('TMPDIR', folder)
    const own = new TestHostProcess()
    try {
      const test = inRoot('packages/perf-model/test/pctodl-predict.test.ts')
      await own.ask({ sources: [], tests: [{ file: test, cases: ['no such case'] }], limitCpuMs })
    } finally {
      await own.close()
      vi.unstubAllEnvs()
    }
    expect(readdirSync(folder)).toEqual([])
    rmSync(folder, { recursive: true })
  })

  it('sees each mutant in its turn, and the sources as they are again', async () => {
    const unchanged = { passed: true, failure: null }
    expect(await ask(null)).toMatchObject(unchanged)
    expect(await asked('kp: 7e-4', 'kp: 8e-4')).toMatchObject({
      passed: false,
      failure: expect.stringContaining('gains'),
    })
    expect(await asked('let ki = this.#gains.ki', 'let ki = 1 * this.#gains.ki')).toMatchObject(unchanged)
    expect(await asked('const delta =', 'const delta = 1 +')).toMatchObject({ passed: false })
    expect(await ask(null)).toMatchObject(unchanged)
  })

  it('holds no failure of one test against another', async () => {
    const other = inRoot('packages/thermo-dvfs/test/blind-step-down.test.ts')
    expect(await asked('kp: 7e-4', 'kp: 8e-4')).toMatchObject({ passed: false })
    expect(await ask(null, [other])).toMatchObject({ passed: true, failure: null })
  })

  it('says which marks each case reaches, and what all compute', async () => {
    const of = (line: string) => source.replace(line, `${MARK}(7);${line}`)
    // A new cap, which few cases have.
    const reached = answered(await ask(of('this.#lastErrors = [0, 0]')))
    expect(reached).toMatchObject({ passed: true, reached: [] })
    expect(reached.cpuMs).toBeGreaterThan(0)
    const reaching = reached.cases.filter((each) => each.reached.includes(7))
    expect(reaching.length).toBeGreaterThan(0)
    expect(reaching.length).toBeLessThan(reached.cases.length)
    const other = inRoot('packages/thermo-dvfs/test/blind-step-down.test.ts')
    const ofOther = answered(await ask(of('const delta ='), [other]))
    expect(ofOther.cases.flatMap((each) => each.reached)).toEqual([])
    // What its module runs when it is loaded concerns every case.
    expect(await ask(`${MARK}(8)\n${source}`)).toMatchObject({ reached: [8] })
  })

  it('runs those cases only that are asked for', async () => {
    const { cases } = answered(await ask(null))
    const { id } = cases.at(-1)!
    const request = { sources: [], tests: [{ file: tests[0]!, cases: [id] }], limitCpuMs }
    expect(answered(await host.ask(request)).cases.map((each) => each.id)).toEqual([id])
  })

  it('is ended where a mutant never returns, and there is another one for the next, whose memory is limited', async () => {
    expect(await asked('const delta =', 'for (;;) {}\n    const delta =', 1000)).toBe('timeout')
    // This one takes more and more memory, on no heap either.
    const text = source.replace(
      'const delta =',
      'const all = []; for (;;) all.push(new Uint8Array(2 ** 24).fill(1))\n    const delta =',
    )
    const request = { sources: [{ file, text }], tests: [{ file: tests[0]! }], limitCpuMs, limitBytes: 2 ** 29 }
    expect(await host.ask(request)).toMatchObject({ passed: false, failure: 'it took too much memory' })
  })
})

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { markedSource, mutantsOf } from '../scripts/mutants/mutants-of.js'
import { TestHostProcess } from '../scripts/mutants/test-host-process.js'
import { MARK } from '../scripts/mutants/test-host-protocol.js'
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

// Seconds of computing are minutes beside many busy processes.
describe('the process that runs tests on mutants', { timeout: 300_000 }, () => {
  const host = new TestHostProcess()
  afterAll(() => host.close())
  const file = inRoot('packages/thermo-dvfs/src/published-pid.ts')
  const tests = [inRoot('packages/thermo-dvfs/test/published-pid.test.ts')]
  const source = readFileSync(file, 'utf8')
  const limitCpuMs = 30_000
  const ask = (text: string | null, asked: readonly string[] = tests, limit = limitCpuMs) =>
    host.ask({ sources: text === null ? [] : [{ file, text }], tests: asked, limitCpuMs: limit })
  const asked = (from: string, to: string, limit?: number) => {
    expect(source).toContain(from)
    return ask(source.replace(from, to), tests, limit)
  }

  it('sees each mutant in its turn, and the sources as they are again', async () => {
    const unchanged = { passed: true, failure: null, reached: [] }
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

  it('says which marks a test reaches, and what it computes', async () => {
    const of = (line: string) => source.replace(line, `${MARK}(7);${line}`)
    const reached = await ask(of('const delta ='))
    expect(reached).toMatchObject({ passed: true, reached: [7] })
    expect((reached as { cpuMs: number }).cpuMs).toBeGreaterThan(0)
    const other = inRoot('packages/thermo-dvfs/test/blind-step-down.test.ts')
    expect(await ask(of('const delta ='), [other])).toMatchObject({ passed: true, reached: [] })
  })

  it('is ended where a mutant never returns, and there is another one for the next', async () => {
    expect(await asked('const delta =', 'for (;;) {}\n    const delta =', 1000)).toBe('timeout')
    expect(await ask(null)).toMatchObject({ passed: true, failure: null })
  })
})

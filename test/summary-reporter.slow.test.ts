import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allowedSkips } from './allowed-skips.js'

const reporter = path.resolve(import.meta.dirname, 'summary-reporter.ts')
const vitest = path.join(path.dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
let folder: string

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'summary-reporter-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** The exit code of a run of these tests, and the last lines of its standard output. */
function run(...sources: string[]): { code: number | null; lines: string[] } {
  return runWith({}, ...sources)
}

function runWith(env: NodeJS.ProcessEnv, ...sources: string[]): { code: number | null; lines: string[] } {
  const root = mkdtempSync(path.join(folder, 'run-'))
  sources.forEach((source, i) => {
    writeFileSync(path.join(root, `${i}.test.ts`), source)
  })
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      vitest,
      'run',
      '--root',
      root,
      '--globals',
      '--maxWorkers=1',
      '--no-isolate',
      '--reporter=default',
      `--reporter=${reporter}`,
    ],
    { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1', PCTODL_ALLOWED_SKIPS: '', ...env } },
  )
  return { code: status, lines: stdout.trimEnd().split('\n') }
}

describe('the list of allowed skips', () => {
  const text = '3 anybody needs a moon\n4 user needs root, to be two users\n'

  it('excuses root from less', () => {
    expect(allowedSkips(text, false)).toEqual(
      new Map([
        ['needs a moon', 3],
        ['needs root, to be two users', 4],
      ]),
    )
    expect(allowedSkips(text, true)).toEqual(new Map([['needs a moon', 3]]))
  })

  it('refuses a line that says nothing', () => {
    expect(() => allowedSkips('needs a moon', true)).toThrow(/'needs a moon' is no allowed skip/)
    expect(() => allowedSkips('3 everybody needs a moon', true)).toThrow(/write how many tests/)
  })
})

describe('the last line of a test run', () => {
  it('counts what passed and what was skipped, and says before it why', () => {
    const { code, lines } = run(
      `it('a', () => {}); it.skip('b (needs a moon)', () => {}); it.skip('c (skipped: no sun)', () => {})`,
      `it('d', () => {}); it('e', (context) => context.skip('told')); it.skip('f', () => {}); it.skip('g (needs a moon)', () => {})`,
    )
    expect(code).toBe(0)
    expect(lines.at(-1)).toBe('2 passed, 0 failed, 5 skipped')
    expect(lines.slice(-5, -1).sort()).toEqual([
      'skipped 1: 1.test.ts does not say why',
      'skipped 1: no sun',
      'skipped 1: told',
      'skipped 2: needs a moon',
    ])
  })

  it('counts failures, files that do not load, hooks and errors outside of tests', () => {
    const { code, lines } = run(
      `it('a', () => {}); it('b', () => { throw new Error('no') })`,
      `throw new Error('at loading')`,
      `describe('s', () => { beforeAll(() => { throw new Error('no') }); it('a', () => {}) })`,
      `it('a', async () => { Promise.reject(new Error('lost')); await new Promise((go) => setTimeout(go, 50)) })`,
    )
    expect(code).toBe(1)
    expect(lines).toEqual(
      expect.arrayContaining([
        'failed in 0.test.ts',
        'failed in 1.test.ts',
        'failed in 2.test.ts',
        'failed outside of tests',
      ]),
    )
    expect(lines.at(-1)).toMatch(/^2 passed, [4-9] failed, \d+ skipped$/)
  })

  it('counts a test that skips and is not on the list as failed', () => {
    const list = path.join(folder, 'allowed-skips.txt')
    writeFileSync(list, '# reasons\n1 anybody needs a moon\n5 anybody needs a sun\n')
    const source = `it('a', () => {}); it.skip('b (needs a moon)', () => {})`
    const env = { PCTODL_ALLOWED_SKIPS: list }
    expect(runWith(env, source)).toMatchObject({
      code: 0,
      lines: expect.arrayContaining(['1 passed, 0 failed, 1 skipped']),
    })
    const { code, lines } = runWith(env, source, `it.skip('c (needs a moon)', () => {}); it.skip('d', () => {})`)
    expect(code).toBe(1)
    expect(lines.slice(-3)).toEqual([
      'skipped 1 more than the list of allowed skips says: needs a moon',
      'skipped 1 more than the list of allowed skips says: 1.test.ts does not say why',
      '1 passed, 2 failed, 3 skipped',
    ])
  })

  it('is missing where the run crashed', () => {
    const { code, lines } = run(`it('a', () => { process.kill(process.ppid, 'SIGKILL') })`)
    expect(code).not.toBe(0)
    expect(lines.join('\n')).not.toMatch(/\d+ passed, \d+ failed, \d+ skipped/)
  })
})

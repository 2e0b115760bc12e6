import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const reporter = path.resolve(import.meta.dirname, '..', 'scripts', 'summary-reporter.ts')
const vitest = path.join(path.dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
let folder: string

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'summary-reporter-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** The exit code of a run of these tests, and the last lines of its standard output. */
function run(...sources: string[]): { code: number | null; lines: string[] } {
  const root = mkdtempSync(path.join(folder, 'run-'))
  sources.forEach((source, i) => {
    writeFileSync(path.join(root, `${i}.test.ts`), source)
  })
  const { status, stdout } = spawnSync(
    process.execPath,
    [vitest, 'run', '--root', root, '--globals', '--reporter=default', `--reporter=${reporter}`],
    { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } },
  )
  return { code: status, lines: stdout.trimEnd().split('\n') }
}

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
    expect(run(`it('a', () => {}); it('b', () => { throw new Error('no') })`)).toMatchObject({
      code: 1,
      lines: expect.arrayContaining(['failed in 0.test.ts', '1 passed, 1 failed, 0 skipped']),
    })
    const unloadable = run(`it('a', () => {})`, `throw new Error('at loading')`)
    expect(unloadable.code).toBe(1)
    expect(unloadable.lines.slice(-2)).toEqual(['failed in 1.test.ts', '1 passed, 1 failed, 0 skipped'])
    const hook = run(`describe('s', () => { beforeAll(() => { throw new Error('no') }); it('a', () => {}) })`)
    expect(hook.code).toBe(1)
    expect(hook.lines.at(-1)).toMatch(/^0 passed, [1-9]\d* failed, \d+ skipped$/)
    const unhandled = run(
      `it('a', async () => { Promise.reject(new Error('lost')); await new Promise((go) => setTimeout(go, 50)) })`,
    )
    expect(unhandled.code).toBe(1)
    expect(unhandled.lines.slice(-2)).toEqual(['failed outside of tests', '1 passed, 1 failed, 0 skipped'])
  })

  it('is missing where the run crashed', () => {
    const { code, lines } = run(`it('a', () => { process.kill(process.ppid, 'SIGKILL') })`)
    expect(code).not.toBe(0)
    expect(lines.join('\n')).not.toMatch(/\d+ passed, \d+ failed, \d+ skipped/)
  })
})

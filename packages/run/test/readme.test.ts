import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exitCodeOf } from '@pctodl/command-line'
import { afterAll, describe, expect, it } from 'vitest'
import { firstDifference } from '../examples/change-the-margin.js'
import { pctodlRun } from '../src/run-command.js'

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')
const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-run-readme-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

describe('README', () => {
  it('shows the example that is tested', () => {
    expect(read('../README.md').match(/```ts\n([\s\S]*?)```/)?.[1]).toBe(read('../examples/change-the-margin.ts'))
  })

  it('has an example that finds what another margin changes, and nothing where it is the same', async () => {
    const argv = ['--backend', 'sim', '--model', 'resnet50', '--power-cap', '150', '--iterations', '3']
    const quiet = { write: () => true }
    const terminal = { stdout: quiet, stderr: quiet, signal: new AbortController().signal, env: {} }
    const log = path.join(folder, 'run.events.jsonl')
    expect(
      await exitCodeOf('pctodl run', pctodlRun, [...argv, '--log-file', path.join(folder, 'run.csv')], terminal),
    ).toBe(0)
    expect(firstDifference(log, 0)).toBeUndefined()
    expect(firstDifference(log, 20)).toMatchObject({ timeMs: 0, source: 'start' })
  })
})

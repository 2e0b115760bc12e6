import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commands } from '../src/index.js'
import { run } from './run-pctodl.js'

describe('what can be completed', () => {
  it.each([
    [['pre'], ['predict']],
    [
      ['mps', 'sta'],
      ['start', 'status'],
    ],
    [['gpu', '--json', 'lo'], ['lock']],
    [
      ['sim', ''],
      ['host', 'tenant', 'llm', 'simulate'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['nonsense', ''], []],
    [['gpu', 'lock', '--', 'l'], []],
    // A value or a file comes here.
    [['predict', '--plot', ''], []],
  ])('%j -> %j', async (words, expected) => {
    const { code, stdout } = await run('complete', '--', ...words)
    expect(code).toBe(0)
    expect(stdout.split('\n').filter(Boolean)).toEqual(expected)
  })

  it('are all commands at the start', async () => {
    const { stdout } = await run('complete', '--', '')
    expect(stdout.trim().split('\n')).toEqual([...commands.map(({ name }) => name), '--help', '--version'])
  })

  it('are the options of the very subcommand', async () => {
    expect((await run('complete', '--', 'gpu', 'lock', '--')).stdout).toContain('--seconds\n')
    expect((await run('complete', '--', 'gpu', 'list', '--')).stdout).not.toContain('--seconds')
    expect((await run('complete', '--', 'sim', 'host', '--g')).stdout).toBe('--gpu\n--gpus\n')
  })
})

/** What each shell is made to offer after the words, one a line: its own completion machinery runs, not ours. */
const shells = {
  bash: (script: string, words: readonly string[]) =>
    `source ${script}; COMP_WORDS=(pctodl ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; ` +
    // biome-ignore lint/suspicious/noTemplateCurlyInString: bash's own
    'complete -p pctodl >/dev/null && _pctodl && printf "%s\\n" "${COMPREPLY[@]}"',
  fish: (script: string, words: readonly string[]) => `source ${script}; complete -C 'pctodl ${words.join(' ')}'`,
  zsh: (script: string, words: readonly string[]) =>
    `autoload -U compinit; compinit -u -D; source ${script}; words=(pctodl ${words.map((word) => `'${word}'`).join(' ')}); ` +
    `CURRENT=${words.length + 1}; compadd() { print -l -- $candidates }; _files() { :; }; _pctodl`,
}

describe.each(Object.keys(shells) as (keyof typeof shells)[])('the script for %s', (shell) => {
  const missing = spawnSync(shell, ['-c', 'true']).status === 0 ? undefined : `no ${shell} on this machine`
  let folder: string

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl-completion-'))
    writeFileSync(path.join(folder, 'script'), (await run('completion', shell)).stdout)
    // The script runs whatever `pctodl` is on PATH: here one that answers from a table, so that nothing need be built.
    const lines = [
      '#!/bin/sh',
      'echo "$#:$*" >> "$0.calls"',
      'for last; do :; done',
      'echo "$last"alpha; echo "$last"beta',
    ]
    writeFileSync(path.join(folder, 'pctodl'), `${lines.join('\n')}\n`)
    chmodSync(path.join(folder, 'pctodl'), 0o755)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  it.skipIf(missing)(
    `asks for the words so far and offers the answer${missing ? ` (skipped: ${missing})` : ''}`,
    () => {
      const offered = execFileSync(shell, ['-c', shells[shell](path.join(folder, 'script'), ['mps', 'st'])], {
        env: { ...process.env, PATH: `${folder}:${process.env['PATH']}`, HOME: folder },
        encoding: 'utf8',
      })
      expect(offered.trim().split('\n')).toEqual(['stalpha', 'stbeta'])
      const calls = execFileSync('cat', [path.join(folder, 'pctodl.calls')], { encoding: 'utf8' })
      expect(calls).toBe('4:complete -- mps st\n')
    },
  )
})

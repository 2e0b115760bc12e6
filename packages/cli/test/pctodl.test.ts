import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { exitCodeOf } from '@pctodl/command-line'
import { predict } from '@pctodl/perf-model/commands'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { version } from '../package.json'
import { commands } from '../src/index.js'
import { rewordedText } from '../src/speaking-as-pctodl.js'
import { run } from './run-pctodl.js'

describe('pctodl', () => {
  it('lists every command with a line, however it is asked', async () => {
    const { code, stdout } = await run('--help')
    expect(code).toBe(0)
    for (const { name, summary } of commands)
      expect(stdout).toMatch(new RegExp(`^ {2}${name} +${escaped(summary)}$`, 'm'))
    expect(stdout.split('\n').every((line) => line.length <= 80)).toBe(true)
    for (const asked of ['help', '-h']) expect(await run(asked)).toEqual({ code, stdout, stderr: '' })
    expect(await run()).toEqual({ code: 2, stdout: '', stderr: stdout })
    expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it('loads no package for help and version', () => {
    for (const file of ['pctodl.ts', 'overview.ts', 'command-table.ts']) {
      const source = readFileSync(path.join(import.meta.dirname, '..', 'src', file), 'utf8')
      const loaded = [...source.matchAll(/^import (?!type ).*from '([^']+)'/gm)].map(([, specifier]) => specifier)
      for (const specifier of loaded) expect(specifier, file).toMatch(/^\.\.?\//)
    }
  })

  it.each(commands.map(({ name, binary }) => [name, binary] as const))(
    '%s loads and tells how it is called from here',
    async (name, binary) => {
      const { code, stdout } = await run(name, '--help')
      expect(code).toBe(0)
      expect(stdout).toMatch(new RegExp(`^Usage:\\s+pctodl ${name} `))
      if (binary !== undefined) expect(stdout).not.toMatch(new RegExp(`(^|\\s)${binary}\\s`))
      expect(await run('help', name)).toEqual({ code, stdout, stderr: '' })
    },
  )

  it('as a program gives the help of a command, and of them all', async () => {
    const bin = path.join(import.meta.dirname, '..', 'bin', 'pctodl.js')
    const help = (...words: string[]) => execFileSync(process.execPath, [bin, ...words, '--help'], { encoding: 'utf8' })
    expect(help('predict')).toBe((await run('predict', '--help')).stdout)
    expect(help()).toBe((await run('--help')).stdout)
  })

  it('hands a call on as it is, and gives back what the package itself answers', async () => {
    const call = '--platform 3080Ti --model resnet50 --p 50 25 --b 16 16 --f 1500 --json'.split(' ')
    let printed = ''
    const sink = { write: (text: string) => (printed += text) }
    const terminal = { stdout: sink, stderr: sink, signal: new AbortController().signal, env: process.env }
    expect(await exitCodeOf('pctodl predict', predict, call, terminal)).toBe(0)
    expect(await run('predict', ...call)).toEqual({ code: 0, stdout: printed, stderr: '' })
  })

  it('tells of a mistake under the name that was typed', async () => {
    expect(await run('partition', '--cap', 'much')).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^pctodl partition: .*\nTry 'pctodl partition --help'\.\n$/s),
    })
    expect(await run('mps')).toMatchObject({ code: 2, stderr: expect.stringMatching(/^pctodl mps: no subcommand/) })
  })

  it.each([
    ['predct', 'predict'],
    ['gpu lok', 'lock'],
    ['segments pln', 'plan'],
    ['colocate evalute', 'evaluate'],
    ['hetero colect', 'collect'],
    ['sensitivity simulat', 'simulate'],
    ['sim hots', 'host'],
    ['predict --shard 50', '--shares'],
    ['gpu lock --secnds 5', '--seconds'],
    ['hetero plan --bach 8', '--batch'],
    ['bench --itterations 2', '--iterations'],
    ['sim host --gup A100 -- true', '--gpu'],
    ['sim simulate --lod x', '--load'],
  ])('says what may have been meant by %s', async (call, meant) => {
    const { code, stderr } = await run(...call.split(' '))
    expect(code).toBe(2)
    expect(stderr).toMatch(new RegExp(`\\(Did you mean .*${meant}.*\\?\\)`))
  })

  it('names no command where none comes near', async () => {
    expect(await run('nonsense')).toEqual({
      code: 2,
      stdout: '',
      stderr: "pctodl: unknown command 'nonsense'\nTry 'pctodl --help'.\n",
    })
  })
})

describe('names of binaries in messages', () => {
  it.each([
    ['see `pctodld status`', 'see `pctodl node status`'],
    ['run pctodld.', 'run pctodl node.'],
    ['bench-runner report FOLDER', 'pctodl bench report FOLDER'],
    ['/run/pctodld/socket', '/run/pctodld/socket'],
    ['npm install @pctodl/bench-runner', 'npm install @pctodl/bench-runner'],
  ])('%j becomes %j', (before, after) => expect(rewordedText(before)).toBe(after))

  it('leave a text without them alone, and are reworded once', () => {
    const words = fc.constantFrom('pctodld', 'bench-runner', 'pctodl', '-', '/', ' ', 'x', '.')
    fc.assert(
      fc.property(fc.array(words), (parts) => {
        const text = parts.join('')
        expect(rewordedText(rewordedText(text))).toBe(rewordedText(text))
      }),
    )
  })
})

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

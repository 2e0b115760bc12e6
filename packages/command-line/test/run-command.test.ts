import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  asUsage,
  type CommandFunction,
  exitCodeOf,
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  oneOf,
  Progress,
  parseCommand,
  positiveNumber,
  type Terminal,
  writeFileAtomically,
} from '@pctodl/command-line'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { afterEach, describe, expect, it } from 'vitest'
import { greet } from '../examples/greet.js'

function recordingTerminal(signal = new AbortController().signal) {
  const written = { stdout: '', stderr: '' }
  const into = (name: keyof typeof written) => ({
    write: (text: string) => {
      written[name] += text
    },
  })
  const terminal: Terminal = { stdout: into('stdout'), stderr: into('stderr'), signal, env: {} }
  return { terminal, written }
}

async function call(command: CommandFunction, ...argv: string[]) {
  const { terminal, written } = recordingTerminal()
  const code = await exitCodeOf('greet', command, argv, terminal)
  return { code, ...written }
}

describe('a command in the house style', () => {
  it('does its work and answers 0', async () => {
    expect(await call(greet, 'Ada', '--times', '2')).toEqual({
      code: 0,
      stdout: 'Hello, Ada\nHello, Ada\n',
      stderr: '',
    })
  })

  it('is the example of the README', () => {
    const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
    const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read('../examples/greet.ts')])
  })

  it('prints help with an example on standard output and answers 0', async () => {
    const { code, stdout, stderr } = await call(greet, '--help')
    expect(code).toBe(0)
    expect(stdout).toContain('Example:\n  greet Ada --times 2')
    expect(stderr).toBe('')
  })

  it.each([
    [['Ada', '--times', '0'], 'not an integer of at least 1'],
    [['Ada', '--loud'], "unknown option '--loud'"],
    [[], "missing required argument 'name'"],
    [['Ada', 'Bob'], "unexpected argument 'Bob'"],
  ])('answers 2 and one line for the call %j', async (argv, message) => {
    const { code, stdout, stderr } = await call(greet, ...argv)
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/^greet: .*\nTry 'greet --help'\.\n$/)
  })
})

describe('errors of a command', () => {
  const throwing =
    (error: unknown): CommandFunction =>
    async () => {
      throw error
    }

  it('shows an error of the family as one line and answers 1', async () => {
    const { code, stderr } = await call(throwing(new PctodlError('LEASE_HELD', 'the lease is held by process 7')))
    expect([code, stderr]).toEqual([1, 'greet: the lease is held by process 7\n'])
  })

  it('shows an error of the operating system as one line and answers 1', async () => {
    const { code, stderr } = await call(async () => {
      readFileSync('/nowhere/at/all')
      return 0
    })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^greet: ENOENT.*\n$/)
  })

  it('answers 130 when it was interrupted, whatever was thrown on the way out', async () => {
    const interrupted = new AbortController()
    const { terminal, written } = recordingTerminal(interrupted.signal)
    interrupted.abort()
    expect(await exitCodeOf('greet', throwing(new Error('socket closed')), [], terminal)).toBe(130)
    expect(written.stderr).toContain('interrupted')
  })

  it('does not hide a defect', async () => {
    await expect(call(throwing(new TypeError('x is not a function')))).rejects.toThrow(TypeError)
  })

  it('takes what a check of the options refuses for an error of usage', async () => {
    const refusing: CommandFunction = async () =>
      asUsage(() => {
        throw new InvalidInputError('--power-cap', 0, 'a positive number of watts')
      })
    expect((await call(refusing)).code).toBe(2)
  })
})

describe('option values', () => {
  const parsed = async (parser: (text: string) => unknown, text: string) => {
    const { terminal } = recordingTerminal()
    const command = newCommand({ name: 'x', description: '', example: '' }, terminal).option('--v <v>', '', parser)
    await parseCommand(command, ['--v', text])
    return command.opts<{ v: unknown }>().v
  }

  it('accepts what it should', async () => {
    expect(await parsed(integerFrom(0), '0')).toBe(0)
    expect(await parsed(numberBetween(0, 1), '0.5')).toBe(0.5)
    expect(await parsed(positiveNumber('watts'), '130.5')).toBe(130.5)
    expect(await parsed(listOf(Number), '50, 25 25')).toEqual([50, 25, 25])
    expect(await parsed(oneOf('sim', 'nvml'), 'sim')).toBe('sim')
  })

  it.each([
    [integerFrom(0), ' ', 'integer'],
    [integerFrom(0), '1.5', 'integer'],
    [integerFrom(1, 100), '101', 'from 1 to 100'],
    [numberBetween(0, 1), 'NaN', 'from 0 to 1'],
    [positiveNumber('watts'), '0', 'watts'],
    [positiveNumber(), 'Infinity', 'positive'],
    [listOf(Number), ' , ', 'empty'],
    [oneOf('sim', 'nvml'), 'real', 'sim, nvml'],
  ] as const)('refuses with a reason (%#)', async (parser, text, reason) => {
    await expect(parsed(parser, text)).rejects.toThrow(reason)
  })
})

describe('files', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-files-'))
  afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  it('are whole or not there', () => {
    const file = path.join(folder, 'a', 'b.csv')
    writeFileAtomically(file, 'one\n')
    writeFileAtomically(file, 'two\n')
    expect(readFileSync(file, 'utf8')).toBe('two\n')
    expect(readdirSync(path.dirname(file))).toEqual(['b.csv'])
  })

  it('that cannot be written are named', () => {
    const file = path.join(folder, 'c')
    writeFileAtomically(file, '')
    writeFileSync(file, 'kept')
    expect(() => writeFileAtomically(path.join(file, 'd.csv'), 'x')).toThrow(/cannot write .*d\.csv.*choose/)
    expect(readFileSync(file, 'utf8')).toBe('kept')
  })
})

it('reports progress as plain lines where there is no terminal and rewrites one line where there is', () => {
  const lines: string[] = []
  const plain = new Progress({ write: (text) => lines.push(text) }, 2)
  plain.begin('a')
  plain.end('a', 'done')
  expect(lines).toEqual(['[1/2] a: done\n'])
  const onTerminal: string[] = []
  const rich = new Progress({ isTTY: true, write: (text) => onTerminal.push(text) }, 2)
  rich.begin('a')
  rich.end('a', 'done')
  expect(onTerminal).toEqual(['\r\u001b[2K[0/2] a ...', '\r\u001b[2K[1/2] a: done\n'])
})

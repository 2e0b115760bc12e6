import { Command } from 'commander'
import { expect, it } from 'vitest'
import { inOurSpelling } from '../src/aliases.js'
import { parseCommand } from '../src/index.js'

const aliases = { '--p_cap': '--power-cap', '--p': '--shares' }

it('replaces whole names only, with or without a value, up to --', () => {
  expect(inOurSpelling(['--p_cap', '150', '--p=50', '--plot', '--p', '-5', '--', '--p', '1'], aliases)).toEqual([
    '--power-cap',
    '150',
    '--shares=50',
    '--plot',
    '--shares',
    '-5',
    '--',
    '--p',
    '1',
  ])
  expect(inOurSpelling(['constructor', '--a=b=c'], aliases)).toEqual(['constructor', '--a=b=c'])
})

it('are one option with what they stand for, and named in the help', async () => {
  const parse = async (...argv: string[]) => {
    let text = ''
    const command = new Command('x')
      .option('--power-cap <watts>')
      .exitOverride()
      .configureOutput({
        writeOut: (part) => {
          text += part
        },
      })
    await parseCommand(command, argv, aliases).catch(() => {})
    return { options: command.opts(), text }
  }
  expect((await parse('--p_cap', '150')).options).toEqual({ powerCap: '150' })
  expect((await parse('--power-cap=170', '--p_cap=150')).options).toEqual({ powerCap: '150' })
  expect((await parse('--help')).text).toContain('--power-cap as --p_cap, --shares as --p')
})

it.each([['--out='], ['--out', ''], ['-o', ''], ['a', '--out', '', '--', 'b']])(
  'an option with an empty value is refused: %j',
  async (...argv) => {
    const command = new Command('x').option('-o, --out <file>').argument('[words...]').exitOverride()
    await expect(parseCommand(command, argv)).rejects.toThrow(/^--?o(ut)?: got '', expected a value/)
  },
)

it('an empty argument, or one of another command, is left alone', async () => {
  const command = new Command('x').option('--out <file>').argument('[words...]').exitOverride()
  await parseCommand(command, ['--out', 'a', '', '--', 'sh', '-c', '', '--out='])
  expect(command.args).toEqual(['', 'sh', '-c', '', '--out='])
})

it("an empty value of a script's option is left alone, and one in a list is not", async () => {
  const command = new Command('x')
    .option('--out <file>')
    .option('--json')
    .argument('<script>')
    .argument('[args...]')
    .passThroughOptions()
    .exitOverride()
  await parseCommand(command, ['--json', 'train.sh', '--suffix', '', '--out='])
  expect(command.args).toEqual(['train.sh', '--suffix', '', '--out='])
  const list = new Command('y').option('--gpu <id...>').exitOverride()
  await expect(parseCommand(list, ['--gpu', '0', ''])).rejects.toThrow(/^--gpu: got ''/)
})

import { type CommandFunction, exitCodeOf, type Terminal } from '@pctodl/command-line'
import { commandNamed, commands } from '../command-table.js'

/**
 * Returns the candidates at the cursor: commands, subcommands or options. They are parsed from the help of the command,
 * so they match it.
 *
 * @param words all words after `pctodl`; the last is the word at the cursor, or an empty string if nothing of it is
 * typed yet
 * @returns the candidates; an empty list if a file or a value is expected
 */
export async function candidatesFor(
  words: readonly string[],
  terminal: Pick<Terminal, 'signal' | 'env'>,
): Promise<string[]> {
  const current = words.at(-1) ?? ''
  const [name, ...before] = words.slice(0, -1)
  const found = await candidatesAfter(name, before, current, terminal)
  return found.filter((candidate) => candidate.startsWith(current))
}

async function candidatesAfter(
  name: string | undefined,
  before: readonly string[],
  current: string,
  terminal: Pick<Terminal, 'signal' | 'env'>,
): Promise<string[]> {
  if (name === undefined) return [...commands.map((command) => command.name), '--help', '--version']
  const entry = commandNamed(name)
  // Words after -- belong to another command.
  if (entry === undefined || before.includes('--')) return []
  const command = await entry.load()
  let help = await helpOf(command, [], terminal)
  const subcommand = before.find((word) => help.subcommands.includes(word))
  if (subcommand !== undefined) help = await helpOf(command, [subcommand], terminal)
  return current.startsWith('-') ? help.options : help.subcommands
}

interface Help {
  readonly subcommands: string[]
  readonly options: string[]
}

async function helpOf(
  command: CommandFunction,
  path: readonly string[],
  { signal, env }: Pick<Terminal, 'signal' | 'env'>,
): Promise<Help> {
  let text = ''
  const stdout = { write: (part: string) => (text += part) }
  await exitCodeOf('pctodl', command, [...path, '--help'], { stdout, stderr: { write: () => {} }, signal, env })
  return readHelp(text)
}

/**
 * Finds subcommands and long options in a help text. Subcommands are in commander's list of commands, or in a usage
 * with one line for each.
 */
export function readHelp(text: string): Help {
  const section = (title: string) => new RegExp(`^${title}:\\n((?: .*\\n?)+)`, 'm').exec(text)?.[1] ?? ''
  const listed = section('Commands').matchAll(/^ {2}([a-z][\w-]*)/gm)
  const inUsage = section('Usage').matchAll(/^ {2}[\w-]+ ([a-z]+)/gm)
  const options = text.matchAll(/^ +(?:-\w, )?(--[a-z][\w-]*)/gm)
  const unique = (matches: Iterable<RegExpExecArray>) => [...new Set([...matches].map((match) => match[1]!))]
  return {
    subcommands: unique([...listed, ...inUsage]).filter((name) => name !== 'help'),
    options: unique(options),
  }
}

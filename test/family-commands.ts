import { readFileSync } from 'node:fs'
import path from 'node:path'
import { commands as commandTable, pctodl } from '../packages/cli/src/index.js'
import type { CommandFunction } from '../packages/command-line/src/index.js'
import { workspacePackages } from '../scripts/pack-packages.js'
import { type Answer, callCommand } from './call-command.js'

/** One program that a package of the family brings. */
export interface Binary {
  readonly name: string
  /** The package's name. */
  readonly package: string
  readonly version: string
}

/** Every program of every package. */
export const binaries: readonly Binary[] = workspacePackages().flatMap(({ name, manifest }) =>
  Object.keys((manifest['bin'] as Readonly<Record<string, string>>) ?? {}).map((binary) => ({
    name: binary,
    package: name,
    version: manifest.version,
  })),
)

/** A program as a function, from its sources. */
export async function commandFunction(binary: string): Promise<CommandFunction> {
  if (binary === 'pctodl') return pctodl
  const entry = commandTable.find((candidate) => candidate.binary === binary)
  if (entry === undefined) throw new Error(`no command of pctodl is the program ${binary}`)
  return entry.load()
}

/** Call a program of the family within this process. */
export async function call(binary: string, argv: readonly string[]): Promise<Answer> {
  return callCommand(binary, await commandFunction(binary), argv, { env: process.env })
}

const helpTexts = new Map<string, Promise<string>>()

/** What `--help` prints, of a program or of one of its subcommands. */
export function helpOf(binary: string, ...subcommand: readonly string[]): Promise<string> {
  const key = [binary, ...subcommand].join(' ')
  const known = helpTexts.get(key) ?? call(binary, [...subcommand, '--help']).then(({ stdout }) => stdout)
  helpTexts.set(key, known)
  return known
}

/** Commands whose first word may be something else than a subcommand: files, a network, a row. */
const takesAnyWord: Readonly<Record<string, RegExp>> = {
  fit: /./,
  'add-network': /./,
  report: /./,
  segments: /^\d+$/,
}
/** What is meant where no subcommand is named: whose help has the options. */
const unnamed: Readonly<Record<string, string>> = { segments: 'plan' }

/**
 * Whether a call could be understood: the program is there, and so are its subcommand and every option. Values are not looked at.
 *
 * @param words as typed
 * @returns what is wrong, undefined where nothing is
 */
export async function mistakeIn([name = '', ...words]: readonly string[]): Promise<string | undefined> {
  if (!binaries.some((binary) => binary.name === name)) return `no package brings the program ${name}`
  const [first = '', ...others] = words
  if (name !== 'pctodl' || !/^[a-z]/.test(first)) return mistakeInCall(name, [], name, words)
  if (first === 'help') return undefined
  if (!commandTable.some((entry) => entry.name === first)) return `pctodl has no command ${first}`
  return mistakeInCall(name, [first], first, others)
}

/** @param prefix words that choose the command of `binary` */
async function mistakeInCall(
  binary: string,
  prefix: readonly string[],
  chosen: string,
  words: readonly string[],
): Promise<string | undefined> {
  // From `--` on, or from a script on, the words are another program's.
  const end = words.findIndex((word) => word === '--' || /\.(mjs|py)$/.test(word))
  const own = end < 0 ? words : words.slice(0, end)
  const [first] = own
  let command = prefix
  if (first === undefined || first.startsWith('-') || takesAnyWord[chosen]?.test(first)) {
    if (unnamed[chosen] !== undefined && own.length > 0) command = [...prefix, unnamed[chosen]]
  } else {
    command = [...prefix, first]
    const called = [binary, ...command].join(' ')
    const usage = new RegExp(`^\\s*(Usage:\\s+)?${escaped(called)}(\\s|$)`, 'm')
    if (!usage.test(await helpOf(binary, ...command))) return `there is no ${called}`
  }
  const help = await helpOf(binary, ...command)
  for (const word of own) {
    const option = /^--[a-z][\w-]*/.exec(word)?.[0]
    if (option !== undefined && !new RegExp(`(^|[\\s,[(])${escaped(option)}(?![\\w-])`, 'm').test(help)) {
      return `${[binary, ...command].join(' ')} has no ${option}`
    }
  }
  return undefined
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** A command line that a text shows. */
export interface WrittenCommand {
  /** File and line. */
  readonly place: string
  readonly words: readonly string[]
  /** It stands in a block of its own, to be typed as it is, and not within a sentence. */
  readonly isWhole: boolean
}

const root = path.resolve(import.meta.dirname, '..')
const starters = new Set([...binaries.map(({ name }) => name), 'npx', 'npm', 'pnpm', 'node'])
const formerPrograms = new Set(commandTable.map(({ name }) => `pctodl-${name}`)).add('pctodl-gpu-sim')
/** A program of the family, or what commands of it were called once. */
export const isOurs = (word: string): boolean => formerPrograms.has(word) || binaries.some(({ name }) => name === word)

/** The commands in the code blocks of a page and in its sentences. */
export function commandsOfPage(file: string): WrittenCommand[] {
  const text = readFileSync(path.join(root, file), 'utf8')
  const found: WrittenCommand[] = []
  const add = (line: string, index: number, isWhole: boolean) => {
    const place = `${file}:${text.slice(0, index).split('\n').length}`
    for (const words of commandsOfLine(line)) found.push({ place, words, isWhole })
  }
  const blocks = /^```(\w*)[^\n]*\n([\s\S]*?)^```$/gm
  for (const block of text.matchAll(blocks)) {
    const [, language = '', body = ''] = block
    if (!['', 'sh', 'console'].includes(language)) continue
    const prompts = language !== 'sh' && /^\$ /m.test(body)
    for (const line of body.replaceAll(/\\\n\s*/g, ' ').split('\n')) {
      if (prompts && !line.startsWith('$ ')) continue
      add(line.replace(/^\$ /, ''), block.index, true)
    }
  }
  const prose = text.replace(blocks, (block) => block.replace(/[^\n]/g, ' '))
  for (const span of prose.matchAll(/`([^`\n]+)`/g)) add(span[1]!, span.index, false)
  return found
}

/** The commands in the messages and comments of a source file. */
export function commandsOfSource(file: string): WrittenCommand[] {
  const text = readFileSync(path.join(root, file), 'utf8')
  return [...text.matchAll(/\\?`((?:npx |pctodl|bench-runner)[^`\n]*?)\\?`/g)].flatMap((span) =>
    // What is computed ends what can be checked.
    commandsOfLine(span[1]!.replace(/\$\{.*$/, '')).map((words) => ({
      place: `${file}:${text.slice(0, span.index).split('\n').length}`,
      words,
      isWhole: false,
    })),
  )
}

/** The commands of one line of a shell; those that are not of the kinds that are checked are left out. */
export function commandsOfLine(line: string): string[][] {
  return line
    .replace(/(^|\s)#.*$/, '')
    .split(/&&|\||;|>/)
    .map((part) => wordsOf(part))
    .map((words) => words.slice(words.findIndex((word) => !/^(\w+=.*|sudo|-E|echo)$/.test(word))))
    .filter((words) => words[0] !== undefined && (starters.has(words[0]) || isOurs(words[0])))
}

/** Words as a shell splits them, up to the first that stands for another (`<file>`, `...`, `FOLDER`). */
function wordsOf(text: string): string[] {
  const words = [...text.trim().matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) => word.replaceAll(/['"]/g, ''))
  const placeholder = words.findIndex((word) => /^[<[]|^\.\.\.$/.test(word))
  return placeholder < 0 ? words : words.slice(0, placeholder)
}

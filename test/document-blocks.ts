import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type CommandFunction, exitCodeOf, type Terminal } from '../packages/command-line/src/index.js'

/**
 * A fenced code block of a guide. By its language:
 *
 * - `ts`: a program, run as it stands;
 * - `sh`: commands of ours, run one after another on the simulated board; each must end with 0;
 * - `sh real`: commands that need a real GPU or a cluster: of each, the command, its subcommand and its options must exist;
 * - `text`: what the block before it prints, line by line, whatever the digits.
 */
export interface Block {
  readonly language: string
  readonly mark: string
  readonly text: string
  /** Of its opening fence, 1-based. */
  readonly line: number
}

export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w*)[ ]?([^\n]*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    language: match[1]!,
    mark: match[2]!.trim(),
    text: match[3]!,
    line: markdown.slice(0, match.index).split('\n').length,
  }))
}

/** A text without its figures and spacing: figures move with the parameters that ship. */
export function masked(text: string): string {
  return text.replace(/\d+(\.\d+)?(e[+-]?\d+)?/g, '#').replace(/\s+/g, ' ')
}

/** The words of one command, as a POSIX shell splits them; nothing that a shell would interpret is allowed. */
export function wordsOf(line: string): string[] {
  const words: string[] = []
  let rest = line.trim()
  while (rest !== '' && !rest.startsWith('#')) {
    const word = rest.match(/^(?:[^\s'"|&;<>$`\\]|'[^']*'|"[^"$`\\]*")+(?=\s|$)/)?.[0]
    if (word === undefined) throw new Error(`not a plain command line: ${line}`)
    words.push(word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double))
    rest = rest.slice(word.length).trim()
  }
  return words
}

/** Packages and exports behind the commands that guides use. */
const commands: Readonly<Record<string, readonly [folder: string, name: string]>> = {
  'bench-runner': ['bench-runner', 'benchRunner'],
  'pctodl-run': ['bench-runner', 'pctodlRun'],
  'pctodl-fit': ['perf-model', 'fit'],
  'pctodl-predict': ['perf-model', 'predict'],
  'pctodl-partition': ['greedy-partition', 'pctodlPartition'],
  'pctodl-profile': ['profiler', 'pctodlProfile'],
  'pctodl-gpu': ['nvml-control', 'gpu'],
  'pctodl-mps': ['mps-control', 'mps'],
}

/** Runs the blocks of one guide, in the current folder. */
export class DocumentBlocks {
  readonly #root: string
  readonly #scratch: string
  #programs = 0

  constructor(root: string) {
    this.#root = root
    this.#scratch = path.join(root, 'test', `.docs-${process.pid}-${Math.random().toString(36).slice(2, 8)}`)
  }

  /** @returns what the block printed on standard output */
  async run({ language, mark, text }: Block): Promise<string> {
    if (language === 'ts') return this.#program(text)
    const lines = text.replaceAll(/\\\n\s*/g, '').split('\n')
    let printed = ''
    for (const line of lines) {
      const words = wordsOf(line)
      if (words.length > 0) printed += await this.#command(words, mark === 'real')
    }
    return printed
  }

  close(): void {
    rmSync(this.#scratch, { recursive: true, force: true })
  }

  /** A process of its own, so that whatever it does to the world ends with it. */
  #program(source: string): string {
    mkdirSync(this.#scratch, { recursive: true })
    writeFileSync(path.join(this.#scratch, '.gitignore'), '*\n')
    const file = path.join(this.#scratch, `${++this.#programs}.mts`)
    // The packages by their sources: the root of the repository depends on some of them only.
    const packages = path.join(this.#root, 'packages')
    const local = source.replace(
      /from '@pctodl\/([a-z-]+)(\/commands)?'/g,
      (_, name, commandsPath) => `from '${packages}/${name}/src/${commandsPath ? 'commands' : 'index'}.ts'`,
    )
    writeFileSync(file, local)
    const options = ['--import', import.meta.resolve('tsx'), '--conditions=@pctodl/source', file]
    const { status, stdout, stderr } = spawnSync(process.execPath, options, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`the program ended with ${status}:\n${stderr}`)
    return stdout
  }

  async #command([name = '', ...argv]: string[], real: boolean): Promise<string> {
    const place = commands[name]
    if (place === undefined) throw new Error(`${name} is not a command that guides may use`)
    const source = path.join(this.#root, 'packages', place[0], 'src', 'commands.ts')
    const command = ((await import(source)) as Record<string, CommandFunction>)[place[1]]!
    if (real) {
      const subcommand = /^[a-z]/.test(argv[0] ?? '') ? [argv[0]!] : []
      const help = await output(name, command, [...subcommand, '--help'])
      for (const word of argv) {
        const option = word.match(/^--[a-z][\w-]*/)?.[0]
        if (option !== undefined && !new RegExp(`${option}\\b`).test(help)) throw new Error(`${name} has no ${option}`)
      }
      return help
    }
    return output(name, command, argv)
  }
}

async function output(name: string, command: CommandFunction, argv: readonly string[]): Promise<string> {
  let stdout = ''
  let stderr = ''
  const terminal: Terminal = {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    signal: new AbortController().signal,
    env: process.env,
  }
  const code = await exitCodeOf(name, command, argv, terminal)
  if (code !== 0) throw new Error(`${name} ${argv.join(' ')} ended with ${code}:\n${stderr}`)
  return stdout
}

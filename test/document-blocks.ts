import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { transformSync } from 'esbuild'
import { call, mistakeIn } from './family-commands.js'

/**
 * A fenced code block of a guide. By its language:
 *
 * - `ts`: a program, run as it stands;
 * - `sh`: commands of ours, run one after another on the simulated board; each must end with 0;
 * - `sh real`: commands that need a real GPU or a cluster: of each, the command, its subcommand and its options must exist;
 * - `text`: what the block before it prints, line by line; `text ~`: whatever the digits, where time decides them.
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

/** What a `text` block promises of a text: all but its spacing, and its figures where it is marked `~`. */
export function promisedOf(text: string, mark: string): string {
  const figures = mark === '~' ? text.replace(/\d+(\.\d+)?(e[+-]?\d+)?/g, '#') : text
  return figures.replace(/\s+/g, ' ')
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
    rmSync(this.#scratch, { recursive: true, force: true, maxRetries: 5 })
  }

  /** A process of its own, so that whatever it does to the world ends with it. */
  #program(source: string): string {
    mkdirSync(this.#scratch, { recursive: true })
    writeFileSync(path.join(this.#scratch, '.gitignore'), '*\n')
    const file = path.join(this.#scratch, `${++this.#programs}.mjs`)
    // The packages as they are built and by their places: the root of the repository depends on some of them only.
    const packages = path.join(this.#root, 'packages')
    const local = source.replace(
      /from '@pctodl\/([a-z-]+)(\/commands)?'/g,
      (_, name, commandsPath) => `from '${packages}/${name}/dist/${commandsPath ? 'commands' : 'index'}.js'`,
    )
    writeFileSync(file, transformSync(local, { loader: 'ts', format: 'esm', target: 'node20' }).code)
    const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`the program ended with ${status}:\n${stderr}`)
    return stdout
  }

  async #command(words: readonly string[], real: boolean): Promise<string> {
    const [name = '', ...argv] = words
    const mistake = await mistakeIn(words)
    if (mistake !== undefined) throw new Error(mistake)
    if (real) return ''
    const { code, stdout, stderr } = await call(name, argv)
    if (code !== 0) throw new Error(`${name} ${argv.join(' ')} ended with ${code}:\n${stderr}`)
    return stdout
  }
}

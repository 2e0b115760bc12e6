import type { Command, CommandOptions } from 'commander'
import { inHouseStyle } from './new-command.js'
import type { Terminal } from './terminal.js'

/** A subcommand of a program in the house style. @param options e.g. `{ isDefault: true }` */
export function newSubcommand(
  program: Command,
  name: string,
  description: string,
  { stdout }: Terminal,
  options: CommandOptions = {},
): Command {
  return inHouseStyle(program.command(name, options), stdout)
    .description(description)
    .helpOption('--help', 'show this help')
}

/** The subcommands of a program of which one is called, and what it ended with. */
export class Subcommands {
  /** That of the one that was called; 0 before. */
  exitCode = 0
  readonly #program: Command
  readonly #terminal: Terminal

  constructor(program: Command, terminal: Terminal) {
    this.#program = program
    this.#terminal = terminal
  }

  add(name: string, description: string): Command {
    return newSubcommand(this.#program, name, description, this.#terminal)
  }

  /** @param work what a subcommand does with its options and operands. @returns it as commander wants an action */
  action(work: (options: never, operands: string[]) => Promise<number>): (this: Command) => Promise<void> {
    const keep = (code: number) => {
      this.exitCode = code
    }
    return async function (this: Command) {
      keep(await work(this.opts() as never, this.args))
    }
  }
}

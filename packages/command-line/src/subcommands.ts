import type { Command, CommandOptions } from 'commander'
import { type CommandDescription, inHouseStyle, newCommand, parseCommand } from './new-command.js'
import type { CommandFunction, Terminal } from './terminal.js'
import { UsageError } from './usage-error.js'

/**
 * Creates a subcommand in the same style as `newCommand`.
 *
 * @param options e.g. `{ isDefault: true }`
 */
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

/** Collects the subcommands of a program, and the exit code of the one that ran. */
export class Subcommands {
  /** Exit code of the subcommand that ran; 0 until then. */
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

  /**
   * @param work implementation of a subcommand; it gets the options and operands
   * @returns an action for commander
   */
  action(work: (options: never, operands: string[]) => Promise<number>): (this: Command) => Promise<void> {
    const keep = (code: number) => {
      this.exitCode = code
    }
    return async function (this: Command) {
      keep(await work(this.opts() as never, this.args))
    }
  }
}

/**
 * A command whose first word selects another command. That command gets the remaining words unchanged.
 *
 * @param commands the commands by name, each with a line for the help
 */
export function commandOfCommands(
  description: CommandDescription,
  commands: Readonly<Record<string, { readonly summary: string; readonly run: CommandFunction }>>,
): CommandFunction {
  return async (argv, terminal) => {
    const [name, ...words] = argv
    if (name === undefined) throw new UsageError(`no command; one of ${Object.keys(commands).join(', ')}`)
    if (Object.hasOwn(commands, name)) return commands[name]!.run(words, terminal)
    const program = newCommand(description, terminal)
    for (const [each, { summary }] of Object.entries(commands)) program.command(each).description(summary)
    // Prints help or the version, or throws a usage error with a suggestion.
    await parseCommand(program, argv)
    return 0
  }
}

import { PctodlError } from '@pctodl/platform'
import { Command, CommanderError } from 'commander'
import type { Terminal } from './terminal.js'
import { UsageError } from './usage-error.js'

export interface CommandDescription {
  readonly name: string
  readonly description: string
  /** A call that works, shown at the end of `--help`. */
  readonly example: string
}

/** A commander program in the house style: help on standard output, errors thrown instead of printed, an example in the help. */
export function newCommand({ name, description, example }: CommandDescription, { stdout }: Terminal): Command {
  return inHouseStyle(new Command(name), stdout)
    .description(description)
    .helpOption('--help', 'show this help')
    .addHelpText('after', `\nExample:\n  ${example}\n`)
}

/** The same for a subcommand, which commander makes with `command.command(...)`. */
export function inHouseStyle(command: Command, stdout: Terminal['stdout']): Command {
  return command
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: () => {} })
}

/**
 * Parse a call.
 *
 * @throws UsageError for what commander refuses
 */
export async function parseCommand(command: Command, argv: readonly string[]): Promise<void> {
  try {
    await command.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    throw error instanceof CommanderError ? usageErrorOf(error) : error
  }
}

function usageErrorOf(error: CommanderError): UsageError {
  return new UsageError(error.message.replace(/^error: /, ''), error.exitCode === 0 ? 0 : 2)
}

/** Run a check of what the user typed: what it refuses is an error of usage, not a failed run. */
export function asUsage<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof PctodlError && !(error instanceof UsageError)) throw new UsageError(error.message)
    throw error
  }
}

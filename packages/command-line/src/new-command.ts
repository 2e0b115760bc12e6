import { PctodlError } from '@pctodl/platform'
import { Command, CommanderError } from 'commander'
import { aliasesText, inOurSpelling, type OptionAliases } from './aliases.js'
import { withBoardFiles } from './board-files.js'
import { linesOf } from './lines-of.js'
import type { Terminal } from './terminal.js'
import { UsageError } from './usage-error.js'

export interface CommandDescription {
  readonly name: string
  readonly description: string
  /** Output of `--version`: the package's version. Subcommands have none. */
  readonly version?: string
  /** A working call, shown at the end of `--help`. */
  readonly example: string
}

/**
 * A commander program in the house style: help on standard output, errors thrown instead of printed, an example in the
 * help.
 */
export function newCommand({ name, description, version, example }: CommandDescription, { stdout }: Terminal): Command {
  const command = inHouseStyle(new Command(name), stdout).description(description)
  if (version !== undefined) command.version(version, '--version', 'print the version')
  return command.helpOption('--help', 'show this help').addHelpText('after', exampleText(example))
}

/** The example at the end of a help text. */
export function exampleText(example: string): string {
  return `\nExample:\n  ${linesOf(example.split(' '), ' ', ' \\\n    ')}\n`
}

/** Help on standard output, errors thrown. @internal */
export function inHouseStyle(command: Command, stdout: Terminal['stdout']): Command {
  return command
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: () => {} })
}

/**
 * Parse a call.
 *
 * @param aliases other spellings of options, which the help then names
 * @throws UsageError for what commander refuses
 */
export async function parseCommand(
  command: Command,
  argv: readonly string[],
  aliases: OptionAliases = {},
): Promise<void> {
  if (Object.keys(aliases).length > 0) command.addHelpText('after', aliasesText(aliases))
  const words = await boardFiles(inOurSpelling(argv, aliases))
  try {
    await command.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    const isMissing = error.code === 'commander.missingMandatoryOptionValue'
    throw usageErrorOf((isMissing && mistypedOption(command, words)) || error)
  }
}

async function boardFiles(argv: readonly string[]): Promise<string[]> {
  try {
    return await withBoardFiles(argv)
  } catch (error) {
    if (error instanceof PctodlError) throw new UsageError(error.message)
    throw error
  }
}

/** Commander reports a missing required option before a mistyped one, which may be the same option. */
function mistypedOption(command: Command, words: readonly string[]): CommanderError | undefined {
  for (const each of [command, ...command.commands]) {
    for (const option of each.options) option.mandatory = false
    if (each.commands.length === 0) each.action(() => {})
  }
  try {
    command.parse(words, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && error.code === 'commander.unknownOption') return error
  }
  return undefined
}

function usageErrorOf(error: CommanderError): UsageError {
  return new UsageError(error.message.replace(/^error: /, ''), error.exitCode === 0 ? 0 : 2)
}

/** Run a check of user input; its refusal is a usage error, not a failed run. */
export function asUsage<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof PctodlError && !(error instanceof UsageError)) throw new UsageError(error.message)
    throw error
  }
}

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
  /** Version of the package, for `--version`. Subcommands have none. */
  readonly version?: string
  /** A valid call, shown at the end of `--help`. */
  readonly example: string
}

/**
 * Creates a commander program that writes help to standard output with an example at the end, and throws errors instead
 * of printing them.
 */
export function newCommand({ name, description, version, example }: CommandDescription, { stdout }: Terminal): Command {
  const command = inHouseStyle(new Command(name), stdout).description(description)
  if (version !== undefined) command.version(version, '--version', 'print the version')
  return command.helpOption('--help', 'show this help').addHelpText('after', exampleText(example))
}

/** The example for the end of a help text. */
export function exampleText(example: string): string {
  return `\nExample:\n  ${linesOf(example.split(' '), ' ', ' \\\n    ')}\n`
}

/**
 * Lets a program write help to standard output, and throw errors instead of printing them.
 *
 * @internal
 */
export function inHouseStyle(command: Command, stdout: Terminal['stdout']): Command {
  return command
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: () => {} })
}

/**
 * Parses a call.
 *
 * @param aliases alternative spellings of options; the help lists them
 * @throws UsageError if commander rejects the call
 */
export async function parseCommand(
  command: Command,
  argv: readonly string[],
  aliases: OptionAliases = {},
): Promise<void> {
  if (Object.keys(aliases).length > 0) command.addHelpText('after', aliasesText(aliases))
  const words = await boardFiles(inOurSpelling(argv, aliases))
  refuseEmptyValues(command)
  try {
    await command.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.code === 'commander.excessArguments') throw new UsageError(`unexpected argument '${excess(command)}'`)
    const isMissing = error.code === 'commander.missingMandatoryOptionValue'
    throw usageErrorOf((isMissing && mistypedOption(command, words)) || error)
  }
}

/** Refuses options with an empty value, which a path, for example, would resolve to the working directory. */
function refuseEmptyValues(command: Command): void {
  // Before commander's own listener, whose errors would not mention the shell.
  const events = command as Command & Pick<NodeJS.EventEmitter, 'prependListener'>
  for (const option of command.options)
    events.prependListener(`option:${option.name()}`, (value: unknown) => {
      if (value !== '') return
      const name = option.long ?? option.short
      throw new UsageError(
        `${name}: got '', expected a value; is a variable of the shell empty? Leave ${name} out, or set it`,
      )
    })
  for (const each of command.commands) refuseEmptyValues(each)
}

/** First argument beyond those that the called command takes. */
function excess(command: Command): string | undefined {
  return [...command.commands, command].flatMap(({ args, registeredArguments }) =>
    args.slice(registeredArguments.length),
  )[0]
}

async function boardFiles(argv: readonly string[]): Promise<string[]> {
  try {
    return await withBoardFiles(argv)
  } catch (error) {
    if (error instanceof PctodlError) throw new UsageError(error.message)
    throw error
  }
}

/**
 * Finds a mistyped option. Commander reports a missing required option first, although the mistyped option may be that
 * one.
 */
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

/** Runs a check of user input. If the check throws an error, it becomes a usage error instead of a failed run. */
export function asUsage<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof PctodlError && !(error instanceof UsageError)) throw new UsageError(error.message)
    throw error
  }
}

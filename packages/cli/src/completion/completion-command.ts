import { type CommandFunction, newCommand, newSubcommand, parseCommand, UsageError } from '@pctodl/command-line'
import { version } from '../../package.json'
import { type CompletionShell, completionHints, completionScripts } from './scripts.js'

const shells = Object.keys(completionScripts) as CompletionShell[]

/** The command `pctodl completion`, which prints the completion script of a shell. */
export const completion: CommandFunction = async (argv, terminal) => {
  const program = newCommand(
    {
      name: 'pctodl completion',
      version,
      description: 'Print a completion script. It completes commands, subcommands and options.',
      example: completionHints.bash,
    },
    terminal,
  )
  for (const shell of shells) {
    newSubcommand(program, shell, `print it for ${shell}`, terminal)
      .addHelpText('after', `\nTo use it:\n  ${completionHints[shell]}\n`)
      .action(() => void terminal.stdout.write(completionScripts[shell]))
  }
  if (argv.length === 0) throw new UsageError(`no shell; one of ${shells.join(', ')}`)
  await parseCommand(program, argv)
  return 0
}

import { type CommandFunction, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { version } from '../../package.json'
import { addExecuteCommand } from './execute-command.js'
import { addProfileCommand } from './profile-command.js'
import { addRequestCommands } from './request-commands.js'
import { addSimulateCommand } from './simulate-command.js'

/** The command line `pctodl sensitivity` as a function. */
export const sensitivity: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl sensitivity',
      version,
      description:
        'How throughput depends on CPU cores and memory beside the GPU, and how to schedule with that knowledge.',
      example: 'pctodl sensitivity simulate --generate 1000 --load 6 --policy srtf,las',
    },
    terminal,
  ).enablePositionalOptions()
  addProfileCommand(command, terminal)
  addSimulateCommand(command, terminal)
  addExecuteCommand(command, terminal)
  addRequestCommands(command, terminal)
  if (argv.length === 0) throw new UsageError('say what to do: profile, simulate, execute, submit or cancel')
  await parseCommand(command, argv)
  return 0
}

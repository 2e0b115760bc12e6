import { type CommandFunction, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { version } from '../../package.json'
import { addExecuteCommand, addRequestCommands } from './execute-command.js'
import { addProfileCommand } from './profile-command.js'
import { addSimulateCommand } from './simulate-command.js'

export const sensitivity: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl sensitivity',
      version,
      description: 'Measure how throughput depends on CPU cores and memory, and schedule jobs accordingly.',
      example: 'pctodl sensitivity simulate --generate 1000 --load 6 --policy srtf,las',
    },
    terminal,
  ).enablePositionalOptions()
  addProfileCommand(command, terminal)
  addSimulateCommand(command, terminal)
  addExecuteCommand(command, terminal)
  addRequestCommands(command, terminal)
  if (argv.length === 0) throw new UsageError('name a command: profile, simulate, execute, submit or cancel')
  await parseCommand(command, argv)
  return 0
}

import {
  type CommandFunction,
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  parseCommand,
  Subcommands,
  UsageError,
} from '@pctodl/command-line'
import { commandLineOf } from '@pctodl/nvml-control'
import type { Command } from 'commander'
import { version } from '../../package.json'
import { doctor } from './doctor.js'
import { daemonOf, type PlaceOptions, printJson, withPlaceOptions } from './mps-options.js'
import { type StartCommandOptions, start } from './start.js'

export const mps: CommandFunction = async (argv, terminal) => {
  const program = newCommand(
    {
      name: 'pctodl mps',
      version,
      description: 'Start, watch and stop the CUDA MPS daemon.',
      example: 'pctodl mps start --gpu 0 --exclusive -- python serve.py',
    },
    terminal,
  )
  const subcommands = new Subcommands(program, terminal)
  const subcommand = (name: string, description: string): Command =>
    withPlaceOptions(subcommands.add(name, description))
  const ofBoard = (command: Command) =>
    command.option('--gpu <id>', 'board: index, UUID or PCI bus id (default: the only one that has a daemon)')

  subcommand('start', 'start a daemon; with a command, only while the command runs')
    .option('--gpu <ids>', 'boards that clients see (default: all)', listOf(String))
    .option('--exclusive', 'set compute mode EXCLUSIVE_PROCESS on them while this runs')
    .option('--uid <uid>', 'user whose processes become clients (default: this one)', integerFrom(0))
    .option('--default-percent <percent>', 'default share of a client', numberBetween(1, 100))
    .option('--static', 'static SM partitions; needs a new daemon')
    .option('--grace-seconds <s>', 'time for clients to exit at the end', integerFrom(0), 10)
    .argument('[command...]', 'client command, after --')
    .action(subcommands.action((options: StartCommandOptions, command) => start(options, command, terminal)))

  ofBoard(subcommand('status', 'daemon, servers and clients')).action(
    subcommands.action(async (options: PlaceOptions) => {
      const status = await daemonOf(options).status()
      const clients = status.servers
        .flatMap((server) => server.clients)
        .map((pid) => ({ pid, command: commandLineOf(pid) }))
      if (options.json) printJson(terminal, { ...status, clients })
      else {
        const { state, reason, daemon, isOurs, servers, pipeDirectory } = status
        const who = daemon ? `, process ${daemon.pid}${isOurs ? '' : ' (not started by pctodl)'}` : ''
        terminal.stdout.write(`${state}${reason ? `: ${reason}` : ''}${who} at ${pipeDirectory}\n`)
        for (const server of servers) {
          const share = server.activeThreadPercentage === null ? '' : `, ${server.activeThreadPercentage} %`
          terminal.stdout.write(
            `server ${server.pid}: ${server.status}${share}, clients: ${server.clients.join(' ') || 'none'}\n`,
          )
        }
        for (const { pid, command } of clients)
          terminal.stdout.write(`${pid}  ${command ?? '(not visible from here)'}\n`)
      }
      return status.state === 'fault' ? 1 : 0
    }),
  )

  ofBoard(subcommand('stop', 'let clients finish, then end the daemon'))
    .option('--grace-seconds <s>', 'time for clients to exit; then they are terminated', integerFrom(0), 10)
    .action(
      subcommands.action(async (options: PlaceOptions & { graceSeconds: number }) => {
        const how = await daemonOf(options).stop({ graceMs: 1000 * options.graceSeconds })
        if (options.json) printJson(terminal, { how })
        else
          terminal.stdout.write(
            `${how === 'not-running' ? 'no daemon was running' : `the daemon has ended (${how})`}\n`,
          )
        return 0
      }),
    )

  ofBoard(subcommand('doctor', 'find out why clients cannot connect')).action(
    subcommands.action((options) => doctor(options, terminal)),
  )

  if (argv.length === 0) throw new UsageError('no subcommand; one of start, status, stop, doctor')
  await parseCommand(program, argv)
  return subcommands.exitCode
}

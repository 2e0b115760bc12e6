import {
  type CommandFunction,
  integerFrom,
  newCommand,
  parseCommand,
  positiveNumber,
  Subcommands,
  UsageError,
  withNvmlOptions,
} from '@pctodl/command-line'
import { InvalidArgumentError, Option } from 'commander'
import { version } from '../../package.json'
import type { ClockRange } from '../control/board-change.js'
import { type DescribeOptions, describe } from './describe.js'
import { type HoldOptions, hold } from './hold.js'
import { leases, restoreCommand } from './leases.js'
import { list } from './list.js'
import { reset } from './reset.js'
import { serve } from './serve.js'
import { status } from './status.js'
import { watch } from './watch.js'

export const gpu: CommandFunction = async (argv, terminal) => {
  const program = newCommand(
    {
      name: 'pctodl gpu',
      version,
      description: 'Inspect NVIDIA GPUs, and change their clocks and limits; earlier settings are restored.',
      example: 'pctodl gpu lock --sm 1005 --limit 250 -- python serve.py',
    },
    terminal,
  )
  const subcommands = new Subcommands(program, terminal)
  const subcommand = (name: string, description: string, boards = 'boards, separated by commas (default: all)') =>
    withNvmlOptions(subcommands.add(name, description).option('--gpu <id>', boards)).option('--json', 'print JSON')

  subcommand('list', 'boards, driver and library').action(subcommands.action((options) => list(options, terminal)))

  subcommand('describe', 'write the board type as a platform file', 'board: index, UUID or PCI bus id (default: 0)')
    .option('--output <file>', 'output file (default: standard output)')
    .option('--key <name>', 'name of the board type')
    .option('--l2-mib <MiB>', 'L2 cache size, if this release does not know the board', positiveNumber('MiB'))
    .option('--base-clock <MHz>', 'rated base clock', positiveNumber('MHz'))
    .option('--boost-clock <MHz>', 'clock under load without limits', positiveNumber('MHz'))
    .action(subcommands.action((options: DescribeOptions) => describe(options, terminal)))

  subcommand('status', 'present state of the boards').action(subcommands.action((options) => status(options, terminal)))

  subcommand('watch', 'state of the boards, live')
    .option('--period <ms>', 'time between samples, at least 20', integerFrom(20, 3_600_000), 500)
    .option('--count <n>', 'number of samples (default: no limit)', integerFrom(1))
    .action(subcommands.action((options) => watch(options, terminal)))

  subcommand(
    'lock',
    'hold clocks and a power limit while a command runs, or until Ctrl-C',
    'board: index, UUID or PCI bus id (default: the only one)',
  )
    .option('--platform-file <file>', 'board type as written by describe (default: what NVML and this release know)')
    .addOption(
      new Option('--access <way>', 'who changes the board; auto: the node service if it runs, else this process')
        .choices(['auto', 'service', 'direct'])
        .default('auto'),
    )
    .option('--sm <MHz>', 'SM clock, or a range (210-1005)', clockRange)
    .option('--mem <MHz>', 'memory clock', integerFrom(1))
    .option('--limit <watts>', 'power limit', positiveNumber('watts'))
    .option('--seconds <s>', 'duration of the lock, without a command', positiveNumber('seconds'))
    .argument('[command...]', 'command to run, after --')
    .action(subcommands.action((options: HoldOptions, command) => hold(options, command, terminal)))

  subcommand('reset', "reset boards to the driver's defaults and delete journals").action(
    subcommands.action((options) => reset(options, terminal)),
  )

  subcommand('leases', 'leases of all boards, and changes left behind').action(
    subcommands.action((options) => leases(options, terminal)),
  )

  subcommand('restore', 'restore settings that killed programs left changed').action(
    subcommands.action((options) => restoreCommand(options, terminal)),
  )

  subcommand('serve', 'serve metrics to Prometheus')
    .option('--port <port>', 'TCP port; 0 takes a free one', integerFrom(0, 65_535), 9400)
    .option('--host <address>', 'address to listen on; there is no authentication', '127.0.0.1')
    .action(subcommands.action((options) => serve(options, terminal)))

  if (argv.length === 0) throw new UsageError('no subcommand; one of list, describe, status, watch, lock, ...')
  await parseCommand(program, argv)
  return subcommands.exitCode
}

function clockRange(text: string): ClockRange {
  const match = /^(\d+)(?:-(\d+))?$/.exec(text.trim())
  if (!match) throw new InvalidArgumentError('not a clock (1005) or a range of clocks (210-1005) in MHz.')
  return { minMhz: Number(match[1]), maxMhz: Number(match[2] ?? match[1]) }
}

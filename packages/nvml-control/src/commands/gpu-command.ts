import {
  type CommandFunction,
  integerFrom,
  newCommand,
  parseCommand,
  positiveNumber,
  Subcommands,
  UsageError,
} from '@pctodl/command-line'
import { InvalidArgumentError } from 'commander'
import { version } from '../../package.json'
import type { ClockRange } from '../control/board-change.js'
import { type DescribeOptions, describe } from './describe.js'
import { type HoldOptions, hold } from './hold.js'
import { leases, restoreCommand } from './leases.js'
import { list } from './list.js'
import { withBoardOptions, withChangeOptions } from './open-boards.js'
import { reset } from './reset.js'
import { serve } from './serve.js'
import { status } from './status.js'
import { watch } from './watch.js'

const one = 'board: index, UUID or PCI bus id (default: the only one)'
const some = 'boards, separated by commas (default: all)'

/** The `pctodl gpu` command. */
export const gpu: CommandFunction = async (argv, terminal) => {
  const program = newCommand(
    {
      name: 'pctodl gpu',
      version,
      description: 'Look at NVIDIA GPUs, and change them without ever leaving them changed.',
      example: 'pctodl gpu lock --sm 1005 --limit 250 -- python serve.py',
    },
    terminal,
  )
  const subcommands = new Subcommands(program, terminal)

  withBoardOptions(subcommands.add('list', 'boards, driver and library'), some).action(
    subcommands.action((options) => list(options, terminal)),
  )

  withBoardOptions(
    subcommands.add('describe', 'write the board type as a platform file'),
    one.replace('the only one', '0'),
  )
    .option('--output <file>', 'where to write it (default: standard output)')
    .option('--key <name>', 'name of the board type')
    .option('--l2-mib <MiB>', 'level-2 cache, where this release does not know the board', positiveNumber('MiB'))
    .option('--base-clock <MHz>', 'rated base clock', positiveNumber('MHz'))
    .option('--boost-clock <MHz>', 'clock under load when nothing holds it back', positiveNumber('MHz'))
    .action(subcommands.action((options: DescribeOptions) => describe(options, terminal)))

  withBoardOptions(subcommands.add('status', 'what boards do now'), some).action(
    subcommands.action((options) => status(options, terminal)),
  )

  withBoardOptions(subcommands.add('watch', 'what boards do, live'), some)
    .option('--period <ms>', 'time between samples, at least 20', integerFrom(20, 3_600_000), 500)
    .option('--count <n>', 'end after so many samples', integerFrom(1))
    .action(subcommands.action((options) => watch(options, terminal)))

  withChangeOptions(
    withBoardOptions(
      subcommands.add('lock', 'hold clocks and a power limit while a command runs, or until Ctrl-C'),
      one,
    ),
  )
    .option('--sm <MHz>', 'SM clock, or a range (210-1005)', clockRange)
    .option('--mem <MHz>', 'memory clock', integerFrom(1))
    .option('--limit <watts>', 'power limit', positiveNumber('watts'))
    .option('--seconds <s>', 'hold for so long, without a command', positiveNumber('seconds'))
    .argument('[command...]', 'after --: what to run meanwhile')
    .action(subcommands.action((options: HoldOptions, command) => hold(options, command, terminal)))

  withBoardOptions(subcommands.add('reset', "bring boards to the driver's defaults and forget journals"), some).action(
    subcommands.action((options) => reset(options, terminal)),
  )

  withBoardOptions(subcommands.add('leases', 'who holds which board, and what was left behind'), some).action(
    subcommands.action((options) => leases(options, terminal)),
  )

  withBoardOptions(subcommands.add('restore', 'put right what killed programs left behind'), some).action(
    subcommands.action((options) => restoreCommand(options, terminal)),
  )

  withBoardOptions(subcommands.add('serve', 'serve metrics to Prometheus'), some)
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

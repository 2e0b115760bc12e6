import {
  asUsage,
  type CommandFunction,
  integerFrom,
  newCommand,
  parseCommand,
  type Terminal,
  UsageError,
  writeFileAtomically,
} from '@pctodl/command-line'
import { withBoards } from '../carry-out/board.js'
import { readPlan } from '../carry-out/plan-file.js'
import { runShards } from '../carry-out/run-shards.js'
import { type ShardCommand, shardCommands } from '../carry-out/shard-command.js'
import { DEFAULT_STEP_PATTERN } from '../carry-out/training-process.js'
import { boardOptions, type RawBoardOptions, stepPattern, withBoardOptions } from './board-options.js'
import { formatRun } from './carry-out-report.js'
import { launchScript } from './launch-script.js'
import { type Named, named } from './named-option.js'

interface RawOptions extends RawBoardOptions {
  readonly plan: string
  readonly device?: Named<string>
  readonly masterAddr: string
  readonly masterPort: number
  readonly stepPattern: RegExp
  readonly run?: boolean
  readonly output?: string
  readonly json?: boolean
}

/** `pctodl-hetero launch`: the processes of a plan, as a script, or run here and measured. */
export const launch: CommandFunction = async (argv, terminal) => {
  const command = withBoardOptions(
    newCommand(
      {
        name: 'pctodl-hetero launch',
        description:
          'Start the training processes of a plan: one for each GPU, with its share, its power limit and the environment of torchrun.\n' +
          'Without --run this prints a script. {share}, {rank}, {world} and {weight} in the command stand for those of a process.',
        example:
          'pctodl-hetero launch --plan plan.json --device a10=0 --device t4=1 --run -- python train.py --batch-size {share}',
      },
      terminal,
    ),
  )
    .argument('<command...>', 'the training command, after --')
    .requiredOption('--plan <file>', "what 'pctodl-hetero --json' printed")
    .option(
      '--device <name=id>',
      'which GPU of this machine a GPU of the plan is (index, UUID, bus id); repeat it',
      named(String),
    )
    .option('--master-addr <host>', 'where rank 0 listens', '127.0.0.1')
    .option('--master-port <port>', 'and its port', integerFrom(1, 65535), 29500)
    .option(
      '--step-pattern <regex>',
      'what a line that ends a step matches',
      stepPattern,
      new RegExp(DEFAULT_STEP_PATTERN, 'i'),
    )
    .option('--run', 'run them here, under a lease of the GPUs, and print time and energy')
    .option('--output <file>', 'with --run: where the result goes, for compare')
    .option('--json', 'print JSON on standard output')
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  if (raw.output !== undefined && !raw.run) throw new UsageError('--output: there is a result only with --run')
  const shards = asUsage(() =>
    shardCommands(readPlan(raw.plan), {
      command: command.args,
      devices: raw.device ?? new Map(),
      masterAddress: raw.masterAddr,
      masterPort: raw.masterPort,
    }),
  )
  if (!raw.run) {
    terminal.stdout.write(raw.json ? `${JSON.stringify(shards, null, 2)}\n` : launchScript(shards))
    return 0
  }
  return run(shards, raw, terminal)
}

async function run(
  shards: readonly ShardCommand[],
  raw: RawOptions,
  { stdout, stderr, signal }: Terminal,
): Promise<number> {
  const devices = shards.map(({ device }) => device)
  const result = await withBoards(devices, boardOptions(raw), (boards) =>
    runShards(shards, boards, {
      stepPattern: raw.stepPattern,
      signal,
      onLine: (gpu, line) => stderr.write(`[${gpu}] ${line}\n`),
    }),
  )
  const json = `${JSON.stringify(result, null, 2)}\n`
  if (raw.output !== undefined) writeFileAtomically(raw.output, json)
  stdout.write(raw.json ? json : `${formatRun(result)}\n`)
  return 0
}

import {
  asUsage,
  type CommandFunction,
  integerFrom,
  newCommand,
  numberBetween,
  parseCommand,
  type Terminal,
  UsageError,
  withNvmlOptions,
  writeFileAtomically,
} from '@pctodl/command-line'
import { withBoards } from '../carry-out/board.js'
import { type PlanFile, type RunFile, readPlan } from '../carry-out/plan-file.js'
import { runShards } from '../carry-out/run-shards.js'
import { runSimulated } from '../carry-out/run-simulated.js'
import { deviceOf, type ShardOptions, shardCommands } from '../carry-out/shard-command.js'
import { DEFAULT_STEP_PATTERN } from '../carry-out/training-process.js'
import { boardOptions, type RawBoardOptions, stepPattern } from './board-options.js'
import { formatRun } from './carry-out-report.js'
import { launchScript } from './launch-script.js'
import { type Named, named } from './named-option.js'
import { refuseGiven } from './refuse-given.js'
import { type RawBackendOptions, simulatedBoards, withBackendOption } from './simulated-options.js'

interface RawOptions extends RawBoardOptions, RawBackendOptions {
  readonly plan: string
  readonly device?: Named<string>
  readonly masterAddr: string
  readonly masterPort: number
  readonly stepPattern: RegExp
  readonly steps: number
  readonly allReduce?: number
  readonly run?: boolean
  readonly output?: string
  readonly json?: boolean
}

/** `pctodl-hetero launch`: the processes of a plan, as a script, or run here and measured. */
export const launch: CommandFunction = async (argv, terminal) => {
  const command = withBackendOption(
    withNvmlOptions(
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
    ),
  )
    .argument('[command...]', 'the training command, after --')
    .requiredOption('--plan <file>', "what 'pctodl-hetero --json' printed")
    .option(
      '--device <name=id>',
      'which GPU of this machine a GPU of the plan is (index, UUID, bus id), or which simulated board (3080Ti, 3080Ti#2); repeat it',
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
    .option('--model <name>', 'with --backend sim: the network to train')
    .option('--steps <n>', 'with --backend sim: how many steps are measured', integerFrom(1), 200)
    .option(
      '--all-reduce <s>',
      "with --backend sim: gradient exchange after each step (default: the plan's)",
      numberBetween(0, 60),
    )
    .option('--output <file>', 'with --run: where the result goes, for compare')
    .option('--json', 'print JSON on standard output')
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  if (raw.output !== undefined && !raw.run) throw new UsageError('--output: there is a result only with --run')
  const plan = asUsage(() => readPlan(raw.plan))
  const devices = raw.device ?? new Map<string, string>()
  if (raw.backend === 'sim') {
    const real = ['stepPattern', 'masterAddr', 'masterPort', 'library', 'leaseDir']
    refuseGiven(command, real, 'of no use with --backend sim; leave it out')
    return simulate(plan, devices, command.args, raw, terminal)
  }
  refuseGiven(command, ['model', 'steps', 'allReduce'], 'only for --backend sim; the training command says it')
  if (command.args.length === 0) throw new UsageError('no training command; give it after --')
  const options = { command: command.args, masterAddress: raw.masterAddr, masterPort: raw.masterPort }
  if (!raw.run) {
    refuseGiven(command, ['stepPattern', 'library', 'leaseDir'], 'only for --run; a script measures nothing')
    const shards = asUsage(() => shardCommands(plan, { ...options, devices }))
    terminal.stdout.write(raw.json ? `${JSON.stringify(shards, null, 2)}\n` : launchScript(shards))
    return 0
  }
  return run(plan, devices, options, raw, terminal)
}

async function run(
  plan: PlanFile,
  devices: ReadonlyMap<string, string>,
  options: Omit<ShardOptions, 'devices'>,
  raw: RawOptions,
  { stdout, stderr, signal }: Terminal,
): Promise<number> {
  const { names, ids, active } = devicesOf(plan, devices)
  const result = await withBoards(ids, boardOptions(raw), (boards) => {
    // However the boards were named, CUDA is told their UUIDs: those mean the same to it as to NVML.
    const uuids = new Map(names.map((name, i) => [name, boards[i]!.uuid]))
    return runShards(shardCommands(plan, { ...options, devices: uuids }), boards.slice(0, active), {
      stepPattern: raw.stepPattern,
      signal,
      leftOut: names.slice(active).map((gpu, i) => ({ gpu, board: boards[active + i]! })),
      onLine: (gpu, line) => stderr.write(`[${gpu}] ${line}\n`),
    })
  })
  return answer(result, raw, stdout)
}

async function simulate(
  plan: PlanFile,
  devices: ReadonlyMap<string, string>,
  command: readonly string[],
  raw: RawOptions,
  { stdout, signal }: Terminal,
): Promise<number> {
  if (!raw.run) throw new UsageError('--backend sim: nothing is printed that could run there; give --run')
  const { names, ids } = devicesOf(plan, devices)
  const host = await simulatedBoards(ids, raw, command, signal)
  const { allReduce: allReduceS = plan.allReduceS } = raw
  return answer(await runSimulated({ ...plan, allReduceS }, host, names, raw.steps), raw, stdout)
}

/** GPUs of the plan with their boards: first those that have a share, then those left out whose board was told. */
function devicesOf({ gpus }: PlanFile, devices: ReadonlyMap<string, string>) {
  const unknown = [...devices.keys()].find((name) => !gpus.some((gpu) => gpu.name === name))
  if (unknown !== undefined) {
    throw new UsageError(
      `--device: the plan has no GPU '${unknown}'; it has ${gpus.map(({ name }) => name).join(', ')}`,
    )
  }
  const active = gpus.filter(({ powerLimitW }) => powerLimitW !== null).map(({ name }) => name)
  const leftOut = gpus.map(({ name }) => name).filter((name) => !active.includes(name) && devices.has(name))
  const names = [...active, ...leftOut]
  return { names, ids: asUsage(() => names.map((name) => deviceOf(name, devices))), active: active.length }
}

function answer(result: RunFile, raw: RawOptions, stdout: Terminal['stdout']): number {
  const json = `${JSON.stringify(result, null, 2)}\n`
  if (raw.output !== undefined) writeFileAtomically(raw.output, json)
  stdout.write(raw.json ? json : `${formatRun(result)}\n`)
  return 0
}

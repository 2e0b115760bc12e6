import {
  asUsage,
  type CommandFunction,
  given,
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  parseCommand,
  positiveNumber,
  writeFileAtomically,
} from '@pctodl/command-line'
import { withBoards } from '../carry-out/board.js'
import { assertCollectOptions, type CollectOptions, collectProfile, stepsNeeded } from '../carry-out/collect-profile.js'
import { settingText } from '../profile/setting.js'
import { boardOptions, simulatedBoards, type TrainingOptions, withTrainingOptions } from './open-boards.js'

interface RawOptions extends TrainingOptions {
  readonly gpu: string
  readonly batches: number[]
  readonly limits: number[]
  readonly smClocks?: number[]
  readonly warmup: number
  readonly allReduce?: number
  readonly steps: number
  readonly repeats: number
  readonly idle: number
  readonly output: string
  readonly json?: boolean
}

export const collect: CommandFunction = async (argv, terminal) => {
  const command = withTrainingOptions(
    newCommand(
      {
        name: 'pctodl hetero collect',
        description:
          'Profile a training command over batch sizes, power limits and locked SM clocks on one GPU. Limit and clock are always restored.\n' +
          'The command trains until it is ended and prints a line per step; {batch} stands for the batch size.',
        example:
          'pctodl hetero collect --gpu 0 --batches 32,64,128 --limits 300,250,200 --output a10.json -- python train.py --batch-size {batch}',
      },
      terminal,
    ),
  )
    .requiredOption(
      '--gpu <id>',
      'index, UUID or PCI bus id; with --backend sim a board such as 3080Ti, or 3080Ti#2 for another unit',
    )
    .requiredOption('--batches <samples>', 'batch sizes', listOf(integerFrom(1)))
    .requiredOption('--limits <W>', 'power limits', listOf(positiveNumber('watts')))
    .option('--sm-clocks <MHz>', 'SM clocks to lock as well, under the largest limit', listOf(positiveNumber('MHz')))
    .option('--warmup <steps>', 'unmeasured steps after each change', integerFrom(0), 10)
    .option('--steps <n>', 'steps of a measured window', integerFrom(1), 40)
    .option('--repeats <n>', 'windows per batch size and limit', integerFrom(1), 1)
    .option('--all-reduce <s>', 'with --backend sim: waiting time in each step, as for gradients', numberBetween(0, 60))
    .option('--idle <s>', 'duration of the idle power measurement', numberBetween(0.1, 3600), 5)
    .requiredOption('--output <file>', 'profile to write; finished batch sizes are kept if a later one fails')
    .option('--json', 'also print the profile on standard output')
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  const host = await simulatedBoards(command, [raw.gpu], ['allReduce'], terminal.signal)
  const options: CollectOptions = {
    command: command.args,
    ...(host && {
      clock: host.clock,
      startTraining: (share: number) => host.train([{ board: 0, share, microBatches: 1 }], raw.allReduce),
    }),
    batchSizes: raw.batches,
    powerLimitsW: raw.limits,
    warmupSteps: raw.warmup,
    steps: raw.steps,
    repeats: raw.repeats,
    idleS: raw.idle,
    stepPattern: raw.stepPattern,
    signal: terminal.signal,
    ...given({ smClocksMhz: raw.smClocks, model: raw.model }),
    onProfile: (profile) => writeFileAtomically(raw.output, `${JSON.stringify(profile, null, 2)}\n`),
    onWindow: ({ batchSize, timeS, energyJ, ...setting }) =>
      terminal.stderr.write(
        `batch ${batchSize}, ${settingText(setting)}: ${timeS.toFixed(2)} s, ${energyJ.toFixed(1)} J, ${(energyJ / timeS).toFixed(1)} W\n`,
      ),
  }
  asUsage(() => assertCollectOptions(options))
  terminal.stderr.write(`each of ${raw.batches.length} batch sizes takes at least ${stepsNeeded(options)} steps\n`)
  const profile = host
    ? await collectProfile(host.boards[0]!, options)
    : await withBoards([raw.gpu], boardOptions(raw), ([board]) => collectProfile(board!, options))
  terminal.stdout.write(
    raw.json
      ? `${JSON.stringify(profile, null, 2)}\n`
      : `${profile.rows.length} windows on ${profile.gpu.name}, ${profile.idlePowerW!.toFixed(1)} W idle -> ${raw.output}\n`,
  )
  return 0
}

import {
  type CommandFunction,
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  oneOf,
  parseCommand,
  positiveNumber,
  Subcommands,
  UsageError,
} from '@pctodl/command-line'
import { version } from '../../package.json'
import { type ImportOptions, importParameters } from './import-command.js'
import { type PartitionOptions, partition } from './partition-command.js'
import { type PredictOptions, predict } from './predict-command.js'

/**
 * The command `pctodl published`: runs PctoDL's predictor and search as published, for comparison with this project's
 * own.
 */
export const published: CommandFunction = async (argv, terminal) => {
  const program = newCommand(
    {
      name: 'pctodl published',
      version,
      description: "PctoDL's published predictor and search, defects included, for comparison.",
      example: 'pctodl published partition --model resnet50 --gpu A100 --power-cap 150',
    },
    terminal,
  )
  const subcommands = new Subcommands(program, terminal)

  subcommands
    .add(
      'import',
      'convert fitting_results (.pth, .pkl, .json) into JSON; pickles are read without executing their code',
    )
    .argument('<folder>', "the published program's fitting_results")
    .option('--out <folder>', 'where to write', 'published')
    .option('--python <program>', 'Python 3.8 or later, no packages needed', 'python3')
    .option('--json', 'print a JSON report')
    .action(subcommands.action((options: ImportOptions, [folder]) => importParameters(folder!, options, terminal)))

  subcommands
    .add('predict', 'predict with the published predictor')
    .requiredOption('--params <folder>', 'imported parameters')
    .requiredOption('--model <name>', 'network of all tenants')
    .requiredOption('--shares <percent...>', 'MPS share of each tenant', listOf(numberBetween(0, 100)))
    .requiredOption('--batches <samples...>', 'batch size of each tenant', listOf(integerFrom(1)))
    .option('--sm-clock <MHz>', 'SM clock', positiveNumber('MHz'), 1950)
    .option('--mem-clock <MHz>', "memory clock (default: the board's highest)", positiveNumber('MHz'))
    .option('--gpu <name>', 'board, as the parameter sets are named')
    .option('--dataset <name>', 'dataset, as the parameter sets are named', 'imagenet')
    .option('--sm-system-stage', 'use the SM system form, which the published predictor omits')
    .option('--oversubscribe', 'accept shares that sum to more than 100')
    .option('--json', 'print JSON')
    .action(subcommands.action(async (options: PredictOptions) => predict(options, terminal)))

  subcommands
    .add('partition', 'plan with the published search')
    .requiredOption('--model <name>', 'network of all tenants')
    .requiredOption('--gpu <name>', 'board, such as 3080Ti or A100')
    .option('--power-cap <watts>', 'power cap', positiveNumber('watts'), 150)
    .option('--mps-step <percent>', 'step of the shares', integerFrom(1, 100), 5)
    .option('--mem-clock <MHz>', 'memory clock (default: all)', positiveNumber('MHz'))
    .option('--params <folder>', 'imported parameters (default: the shipped model of perf-model)')
    .option('--dataset <name>', 'dataset, as the parameter sets are named', 'imagenet')
    .option(
      '--variant <which>',
      'which of the two published searches to use',
      oneOf('standard', 'vectorized'),
      'standard',
    )
    .option('--explain', 'show the steps of the search')
    .option('--json', 'print JSON')
    .action(subcommands.action(async (options: PartitionOptions) => partition(options, terminal)))

  if (argv.length === 0) throw new UsageError('no subcommand; one of import, predict, partition')
  await parseCommand(program, argv, {
    '--platform': '--gpu',
    '--p_cap': '--power-cap',
    '--mps_step': '--mps-step',
    '--mem-freq': '--mem-clock',
    '--p': '--shares',
    '--b': '--batches',
    '--f': '--sm-clock',
  })
  return subcommands.exitCode
}

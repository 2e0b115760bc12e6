import { given, oneOf, UsageError, withNvmlOptions } from '@pctodl/command-line'
import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { type Command, InvalidArgumentError } from 'commander'
import type { BoardOptions } from '../carry-out/board.js'
import { openSimulatedBoards, type SimulatedBoards } from '../carry-out/simulated-boards.js'
import { DEFAULT_STEP_PATTERN } from '../carry-out/training-process.js'
import { refuseGiven } from './options.js'

export interface TrainingOptions {
  readonly backend: 'nvml' | 'sim'
  readonly model?: string
  readonly stepPattern: RegExp
  readonly library?: string
  readonly leaseDir?: string
}

/** Options common to all commands that train: the boards and the training command. */
export function withTrainingOptions(command: Command): Command {
  return withNvmlOptions(command)
    .argument('[command...]', 'the training command, after --')
    .option(
      '--backend <kind>',
      'nvml, or sim: simulated boards that train --model without a GPU or a command; needs @pctodl/gpu-sim',
      oneOf('nvml', 'sim'),
      'nvml' as const,
    )
    .option('--model <name>', 'name of the model in the file; with --backend sim, the network to train')
    .option(
      '--step-pattern <regex>',
      'pattern of the line that ends a step; case-insensitive',
      regularExpression,
      new RegExp(DEFAULT_STEP_PATTERN, 'i'),
    )
}

function regularExpression(text: string): RegExp {
  try {
    return new RegExp(text, 'i')
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

export function boardOptions({ library, leaseDir }: TrainingOptions): BoardOptions {
  return given({ libraryPath: library, leaseFolder: leaseDir })
}

/**
 * @param forSimulated options valid for simulated boards only
 * @returns null for real boards
 * @throws UsageError for options of the other back end, without a training command, or for an unknown board or network
 */
export async function simulatedBoards(
  command: Command,
  units: readonly string[],
  forSimulated: readonly string[],
  signal: AbortSignal,
): Promise<SimulatedBoards | null> {
  const { backend, model } = command.opts<TrainingOptions>()
  const [first] = command.args
  if (backend === 'nvml') {
    refuseGiven(command, forSimulated, 'only for --backend sim; a training command does it by itself')
    if (first === undefined) throw new UsageError('no training command; give it after --')
    return null
  }
  refuseGiven(command, ['stepPattern', 'library', 'leaseDir'], 'of no use with --backend sim; leave it out')
  if (first !== undefined) throw new UsageError(`--backend sim trains --model by itself; omit '${first}'`)
  if (model === undefined) throw new UsageError('--backend sim needs --model, the network to train, such as resnet50')
  try {
    return await openSimulatedBoards(units, model, signal)
  } catch (error) {
    if (error instanceof UnknownNameError || error instanceof InvalidInputError) throw new UsageError(error.message)
    throw error
  }
}

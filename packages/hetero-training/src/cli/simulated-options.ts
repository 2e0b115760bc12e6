import { oneOf, UsageError } from '@pctodl/command-line'
import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import type { Command } from 'commander'
import { openSimulatedBoards, type SimulatedBoards } from '../carry-out/simulated-boards.js'

/** What `withBackendOption` parses, beside what a command needs of its own. */
export interface RawBackendOptions {
  readonly backend: 'nvml' | 'sim'
  readonly model?: string
}

/** Where the boards come from. */
export function withBackendOption(command: Command): Command {
  return command.option(
    '--backend <kind>',
    'nvml, or sim: simulated boards that train --model, without a GPU and without a command; needs @pctodl/gpu-sim',
    oneOf('nvml', 'sim'),
    'nvml' as const,
  )
}

/** @throws UsageError for what simulated boards cannot be told, and for a board or network that nobody knows */
export async function simulatedBoards(
  units: readonly string[],
  { model }: RawBackendOptions,
  command: readonly string[],
  signal: AbortSignal,
): Promise<SimulatedBoards> {
  if (command.length > 0) throw new UsageError(`--backend sim trains --model by itself; leave '${command[0]}' out`)
  if (model === undefined) throw new UsageError('--backend sim needs --model, the network to train, such as resnet50')
  try {
    return await openSimulatedBoards(units, { network: model, signal })
  } catch (error) {
    if (error instanceof UnknownNameError || error instanceof InvalidInputError) throw new UsageError(error.message)
    throw error
  }
}

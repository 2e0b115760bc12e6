import type { CommandFunction } from '@pctodl/command-line'
import { replayRecord } from './replay-record.js'
import { runExperiment } from './run-experiment.js'
import { parseRunOptions } from './run-options.js'

/** The command line `pctodl run` as a function. */
export const pctodlRun: CommandFunction = async (argv, terminal) => {
  const call = await parseRunOptions(argv, terminal)
  return 'replay' in call ? replayRecord(call, terminal) : runExperiment(call, terminal)
}

import { existsSync } from 'node:fs'
import { asUsage, integerFrom, numberBetween, positiveNumber, type Terminal, UsageError } from '@pctodl/command-line'
import { findMigBoard, type MigBoard, migBoardKeys } from '@pctodl/platform'
import type { Command } from 'commander'
import { lintProfile } from '../input/lint-profile.js'
import { byFileName, exampleFolder, loadObjectives, loadProfiles } from '../input/load-inputs.js'
import { DEFAULT_MAX_PROCESSES } from '../input/parse-profile-csv.js'
import { DEFAULT_GPUS_PER_NODE } from '../map/deployment-map.js'
import { DEFAULT_LATENCY_SHARE, type ServiceObjective, type ServiceProfile } from '../profile.js'

export interface InputOptions {
  readonly gpu: string
  readonly profiles?: string
  readonly slo?: string
  readonly maxProcesses: number
  readonly rateFactor: number
  readonly gpusPerNode: number
  readonly nodes?: number
  readonly output: string
  readonly json?: boolean
}

interface Inputs {
  readonly board: MigBoard
  readonly profiles: readonly ServiceProfile[]
  readonly rows: readonly (readonly ServiceObjective[])[]
}

export function addInputOptions(command: Command): Command {
  return command
    .option('--gpu <name>', `board with MIG: ${migBoardKeys.join(', ')}`, 'A100-80GB')
    .option('--profiles <folder>', "profiles, <model>.csv (default: the board's examples of a simulated board)")
    .option('--slo <folder>', 'SLO_req_rate.csv and SLO_latency.csv (default: the examples)')
    .option(
      '--max-processes <n>',
      'largest number of MPS processes per instance',
      integerFrom(1),
      DEFAULT_MAX_PROCESSES,
    )
    .option(
      '--latency-share <x>',
      'share of a latency objective that a batch may take',
      numberBetween(0.01, 1),
      DEFAULT_LATENCY_SHARE,
    )
    .option('--rate-factor <x>', 'multiply all request rates', positiveNumber(), 1)
    .option('--gpus-per-node <n>', 'GPUs of a node', integerFrom(1), DEFAULT_GPUS_PER_NODE)
    .option('--nodes <n>', 'available nodes; a plan that needs more is an error', integerFrom(1))
    .option('--output <folder>', 'folder for SLO<row>/SLO<row>_ParvaGPU_deploy.csv', './deployment')
    .option('--json', 'print a JSON report on standard output')
}

/**
 * Reads the profiles and objectives for one type of board, and warns of suspicious values.
 *
 * @throws UsageError for a board without MIG or without example profiles; SegmentFileError for bad files
 */
export function loadRows(options: InputOptions, { stderr }: Terminal): Inputs {
  const board = asUsage(() => findMigBoard(options.gpu))
  if (options.profiles !== undefined && options.slo === undefined) {
    throw new UsageError("--profiles needs --slo, the folder with these models' objectives")
  }
  if (options.profiles === undefined && !existsSync(exampleFolder(board.key))) {
    throw new UsageError(`there are no example profiles of ${board.key}; name your own with --profiles and --slo`)
  }
  const profiles = loadProfiles(options.profiles ?? exampleFolder(board.key), { maxProcesses: options.maxProcesses })
  const rows = scenariosFor(profiles, options)
  for (const warning of profiles.flatMap(lintProfile)) stderr.write(`warning: ${warning}\n`)
  return { board, profiles, rows }
}

/** The rows of the objective files, with rates multiplied by `--rate-factor`. */
export function scenariosFor(
  profiles: readonly ServiceProfile[],
  { slo = exampleFolder('example-objectives'), rateFactor }: InputOptions,
): ServiceObjective[][] {
  const models = [...new Set(profiles.map(({ model }) => model))]
  const scenarios = loadObjectives(slo, models.sort(byFileName))
  return scenarios.map((row) => row.map((each) => ({ ...each, ratePerS: each.ratePerS * rateFactor })))
}

/** Number of boards that are available, from the number of nodes; absent if it is not limited. */
export function maxBoards({ nodes, gpusPerNode }: InputOptions): { boards?: number } {
  return nodes === undefined ? {} : { boards: nodes * gpusPerNode }
}

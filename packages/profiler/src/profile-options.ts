import { readFileSync } from 'node:fs'
import {
  asUsage,
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  type OptionAliases,
  oneOf,
  parseCommand,
  positiveNumber,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import { networkName, networkNames } from '@pctodl/platform'
import { version } from '../package.json'
import type { MeasureOptions } from './plan/profile-plan.js'
import { addBoardOptions, type BoardOptions, boardOf, measureOf, perTenant } from './tenant-options.js'

/** Sweeps that a call can request, by the Python code's names if it has them. */
export type Mode = 'single' | 'static' | 'sweep' | 'profile-freq-scaling' | 'stress' | 'clocks' | 'mixes' | 'active'

/** Options as typed. */
interface RawOptions extends BoardOptions {
  readonly model?: string[]
  readonly single?: boolean
  readonly static?: boolean
  readonly sweep?: boolean
  readonly profileFreqScaling?: boolean
  readonly stress?: boolean
  readonly clocks?: boolean
  readonly mixes?: number
  readonly design?: 'active'
  readonly rows?: number
  readonly params?: string
  readonly batches?: number[]
  readonly smClock?: number
  readonly memClock?: number[]
  readonly fStart?: number
  readonly fEnd?: number
  readonly fStep?: number
  readonly repeats: number
  readonly standardError?: number
  readonly sudo: boolean
  readonly plan?: string
  readonly matrix?: string
  readonly writePlan?: string
  readonly out?: string
  readonly resume?: boolean
  readonly dryRun?: boolean
  readonly plot?: boolean
  readonly json?: boolean
}

/** The options of one call of `pctodl profile`, after checking. */
export interface ProfileOptions extends RawOptions {
  readonly gpu: string
  readonly modes: readonly Mode[]
  readonly models: readonly string[]
  readonly shares: number[]
  readonly batches: number[]
  readonly measure: Partial<MeasureOptions>
}

const referenceSpelling: OptionAliases = {
  '--models': '--model',
  '--p': '--shares',
  '--b': '--batches',
  '--f': '--sm-clock',
  '--mem-freq': '--mem-clock',
}

/**
 * Parses and checks the command's options.
 *
 * @throws UsageError for an invalid option or value
 */
export async function parseOptions(argv: readonly string[], terminal: Terminal): Promise<ProfileOptions> {
  const command = addBoardOptions(
    newCommand(
      {
        name: 'pctodl profile',
        version,
        description:
          'Measure throughput and power of inference processes on a board over shares, batch sizes and clocks, and write a trace.',
        example: 'pctodl profile --gpu 3080Ti --model resnet50 --stress --clocks --out traces/3080Ti.csv',
      },
      terminal,
    ),
  )
    .option('--model <names...>', `networks (default: all of ${networkNames.join(' ')})`, listOf(String))
    .option('--stress', 'the grid of 263 cells per network at unlocked clocks; the default plan')
    .option('--clocks', 'nine configurations per network at a series of SM clocks')
    .option('--mixes <n>', 'n random mixes over shares, batches, clocks and networks', integerFrom(1))
    .option('--design <name>', 'active: choose --rows that reduce the uncertainty of plans most', oneOf('active'))
    .option('--rows <n>', 'rows of --design (default 150)', integerFrom(1))
    .option('--params <folder>', 'present parameters, from pctodl fit (default: the shipped parameters)')
    .option('--single', 'one configuration: --shares, --batches, --sm-clock')
    .option('--sweep', 'one configuration at a series of SM clocks: --shares, --batches')
    .option('--profile-freq-scaling', 'one process on the whole board, batch 128, at a series of SM clocks')
    .option('--static', 'idle power at --sm-clock or at a series of SM clocks')
    .option('--batches <samples...>', 'batch sizes of the tenants (default 8)', listOf(integerFrom(1)))
    .option('--sm-clock <MHz>', 'SM clock of --single and --static (default: unlocked)', positiveNumber('MHz'))
    .option('--mem-clock <MHz...>', 'memory clocks (default: the highest)', listOf(positiveNumber('MHz')))
    .option('--f-start <MHz>', 'first SM clock of a sweep (default: the lowest)', positiveNumber('MHz'))
    .option('--f-end <MHz>', 'last SM clock of a sweep (default: the highest)', positiveNumber('MHz'))
    .option('--f-step <MHz>', 'step between them (default 150)', positiveNumber('MHz'))
    .option('--matrix <file>', 'another grid for --stress, in the format of profiler_matrix.json')
    .option('--repeats <n>', 'measure everything so often', integerFrom(1), 1)
    .option(
      '--standard-error <percent>',
      'target standard error of mean power and throughput (default 0.5)',
      numberBetween(0.01, 50),
    )
    .option('--no-sudo', 'change nothing that needs root: clocks stay as they are')
    .option('--plan <file>', 'measure the plan in this file instead')
    .option('--write-plan <file>', 'write the plan as JSON')
    .option('--out <file>', 'trace to write (default: profile/<board>.csv)')
    .option('--resume', 'resume the run in --out, or start it')
    .option('--dry-run', 'print the plan and its expected time, and measure nothing')
    .option('--plot', 'also draw the trace as SVG and PNG')
    .option('--json', 'print a JSON report on standard output')
  await parseCommand(command, argv, referenceSpelling)
  const raw = command.opts<RawOptions>()
  const modes = modesOf(raw)
  if (raw.design === undefined && (raw.rows !== undefined || raw.params !== undefined)) {
    throw new UsageError('--rows and --params belong to --design active; give that, too, or leave them out')
  }
  if (raw.plan !== undefined && (modes.length > 0 || raw.model || raw.shares || raw.batches || raw.matrix)) {
    throw new UsageError('--plan defines the rows; omit --model, --shares, --batches, --matrix and sweeps')
  }
  return asUsage(() => ({
    ...raw,
    gpu: boardOf(raw),
    modes: modes.length > 0 ? modes : ['stress'],
    models: (raw.model ?? networkNames).map((name) => (raw.worker === undefined ? networkName(name) : name)),
    ...perTenant(raw.shares ?? [100], raw.batches ?? [8]),
    measure: {
      ...measureOf(raw),
      ...(raw.standardError === undefined ? {} : { standardErrorPercent: raw.standardError }),
    },
  }))
}

function modesOf(raw: RawOptions): Mode[] {
  const modes: Mode[] = []
  if (raw.single) modes.push('single')
  if (raw.static) modes.push('static')
  if (raw.sweep) modes.push('sweep')
  if (raw.profileFreqScaling) modes.push('profile-freq-scaling')
  if (raw.stress || raw.matrix !== undefined) modes.push('stress')
  if (raw.clocks) modes.push('clocks')
  if (raw.mixes !== undefined) modes.push('mixes')
  if (raw.design !== undefined) modes.push('active')
  return modes
}

/**
 * Reads a JSON file.
 *
 * @throws UsageError if the file cannot be read or is not JSON
 */
export function readJsonFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

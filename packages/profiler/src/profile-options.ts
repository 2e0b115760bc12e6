import { readFileSync } from 'node:fs'
import {
  given,
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
import { findGpuSpec, type GpuSpec, networkNames, reasonOf, type Tenant } from '@pctodl/platform'
import { version } from '../package.json'
import { addBoardOptions, type BoardOptions, measureOf, networkOf, tenantsOf } from './board-options.js'
import { activeSweep, knownOfBoard } from './plan/active-design.js'
import { anchorGrid, clocksGrid, tenantsOfGrid } from './plan/anchor-grid.js'
import { makePlan, type SweepRequest, sweepRows } from './plan/make-plan.js'
import { mixSweep } from './plan/mix-sweep.js'
import { type PlannedRow, type ProfilePlan, parsePlan, requestsClock, type SweepName } from './plan/profile-plan.js'

/** Options of `pctodl profile`, as typed. */
interface RawOptions extends BoardOptions {
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
  readonly smClock?: number
  readonly memClock?: number[]
  readonly fStart?: number
  readonly fEnd?: number
  readonly fStep?: number
  readonly repeats: number
  readonly standardError?: number
  readonly sudo: boolean
  readonly plan?: string
  readonly writePlan?: string
  readonly out?: string
  readonly resume?: boolean
  readonly dryRun?: boolean
}

const sweepOptions = ['single', 'static', 'sweep', 'profileFreqScaling', 'stress', 'clocks', 'mixes', 'design'] as const

/** The options of one call of `pctodl profile`, after checking. */
export interface ProfileOptions extends RawOptions {
  readonly models: readonly string[]
  /** Tenants of `--single` and `--sweep`. */
  readonly tenants: readonly Tenant[]
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
    .option(
      '--design <name>',
      'active: --rows that improve predictions for plans: half plans of the search, half mixes',
      oneOf('active'),
    )
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
    .option('--json', 'print a JSON report on standard output')
  await parseCommand(command, argv, referenceSpelling)
  const options = command.opts<RawOptions>()
  const { design, rows, params, plan, model, shares, batches } = options
  if (design === undefined && (rows !== undefined || params !== undefined)) {
    throw new UsageError('--rows and --params belong to --design active; give that, too, or leave them out')
  }
  if (plan !== undefined && (hasSweep(options) || model || shares || batches)) {
    throw new UsageError('--plan defines the rows; omit --model, --shares, --batches and sweeps')
  }
  const models = (model ?? networkNames).map((name) => networkOf(name, options.worker))
  return { ...options, models, tenants: tenantsOf({ ...options, model: [models[0]!] }, { model: [], batches: [8] }) }
}

function hasSweep(options: RawOptions): boolean {
  return sweepOptions.some((name) => options[name])
}

/**
 * Makes the plan that the options request for a board.
 *
 * @throws InvalidInputError or UsageError if the board cannot do what is requested or does not allow it; also the
 *   errors of `knownOfBoard`
 */
export async function requestedPlan(options: ProfileOptions, spec: GpuSpec): Promise<ProfilePlan> {
  const plan = options.plan === undefined ? await planOf(options, spec) : readPlan(options.plan, spec)
  if (!options.sudo && plan.rows.some(requestsClock)) {
    throw new UsageError('--no-sudo leaves clocks alone, and this asks for some; drop one of them')
  }
  return plan
}

function readPlan(file: string, spec: GpuSpec): ProfilePlan {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${reasonOf(error)}`)
  }
  const plan = parsePlan(json, file)
  if (findGpuSpec(plan.board).key !== spec.key) {
    throw new UsageError(`${file} is a plan for ${plan.board}, this is ${spec.name}; make one with --write-plan`)
  }
  return plan
}

async function planOf(options: ProfileOptions, spec: GpuSpec): Promise<ProfilePlan> {
  const { models, tenants, mixes, sudo, repeats, seed, rows: count = 150, standardError } = options
  const range = given({ fromMhz: options.fStart, toMhz: options.fEnd, stepMhz: options.fStep })
  const smClockMhz = options.smClock ?? null
  const isGrid = options.stress || !hasSweep(options)
  const known = options.design && (await knownOfBoard(spec, models, options.params))
  const rows: PlannedRow[] = []
  for (const memClockMhz of options.memClock ?? [sudo ? spec.performanceMemClocksMhz[0]! : null]) {
    const add = (
      sweep: SweepName,
      configurations: SweepRequest['configurations'],
      smClocks: SweepRequest['smClocks'],
    ) => rows.push(...sweepRows(spec, { sweep, configurations, smClocks, memClockMhz }))
    if (options.single) add('single', [tenants], smClockMhz)
    if (options.sweep) add('single', [tenants], range)
    for (const model of models) {
      if (isGrid) add('anchor', tenantsOfGrid(model, anchorGrid), null)
      if (options.clocks) add('clocks', tenantsOfGrid(model, clocksGrid), range)
      if (options.profileFreqScaling) add('scaling', [[{ model, mpsPercent: 100, batchSize: 128 }]], range)
    }
    if (mixes) rows.push(...mixSweep(spec, models, memClockMhz, { count: mixes, seed }))
    if (known) rows.push(...activeSweep(spec, models, memClockMhz, { ...known, count, seed }))
    if (options.static) add('static', [[]], sudo && options.smClock === undefined ? range : smClockMhz)
  }
  const measure = { ...measureOf(options), ...given({ standardErrorPercent: standardError }) }
  return makePlan(spec, rows, { seed, repeats, measure })
}

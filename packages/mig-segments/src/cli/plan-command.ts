import { rmSync } from 'node:fs'
import path from 'node:path'
import {
  asUsage,
  endingAtOnce,
  integerFrom,
  oneOf,
  positiveNumber,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import type { MigBoard } from '@pctodl/platform'
import type { Command } from 'commander'
import type { Fleet } from '../fleet/fleet.js'
import { fleetOf, gpusOf } from '../fleet/one-board.js'
import { DEFAULT_MAX_ITERATIONS, type FleetOptions, planFleet } from '../fleet/plan-fleet.js'
import { simulateFleet } from '../fleet/simulate-fleet.js'
import { loadFleet } from '../input/load-fleet.js'
import { exampleFolder, loadObjectives } from '../input/load-inputs.js'
import { scenarioAt } from '../input/parse-objectives.js'
import { boardsOf } from '../map/boards-of.js'
import { formatDeploymentMap, parseDeploymentMap } from '../map/deployment-map.js'
import { formatFleetMap, type MappedBoard, parseFleetMap } from '../map/fleet-map.js'
import { drawMap } from '../map/picture.js'
import { readMap } from '../map/read-map.js'
import { explainBounds, explainPlan } from '../output/explain.js'
import { boardsOfGpus, type PowerCap, planSegments } from '../plan-segments.js'
import type { ServiceObjective, ServiceProfile } from '../profile.js'
import { stepFleetMaps } from '../replan/fleet-migration.js'
import { replanFleet } from '../replan/replan-fleet.js'
import { serviceLimits } from '../tail/service-limits.js'
import type { Dispatch } from '../tail/ways.js'
import { changeOf, fleetSummary } from './fleet-report.js'
import { addManifestOptions, type ManifestOptions, manifestsOf } from './manifest-options.js'
import { addInputOptions, type InputOptions, loadRows, maxBoards, raised } from './plan-options.js'
import { fleetFile, MAX_SIMULATED_BOARDS, mapFile, type Reported, reportPlan } from './plan-report.js'
import { addGateOptions, type GateOptions, trafficOf } from './traffic-options.js'

interface PlanCommandOptions extends InputOptions, ManifestOptions, GateOptions {
  readonly dispatch: Dispatch
  readonly maxIterations: number
  readonly powerCap?: number
  readonly idlePower?: number
  readonly picture?: boolean
  readonly explain?: boolean
  readonly strict?: boolean
  readonly fleet?: string
  readonly from?: string
  readonly consolidate?: boolean
}

export function addPlanOptions(command: Command): Command {
  return addManifestOptions(addGateOptions(addInputOptions(command)))
    .option(
      '--dispatch <name>',
      'for --gate tail: a queue shared by all segments, or split',
      oneOf('shared', 'split'),
      'shared',
    )
    .option('--max-iterations <n>', 'simplex iterations of each proof', integerFrom(1), DEFAULT_MAX_ITERATIONS)
    .option('--power-cap <w>', 'most watts of a board; needs measured power in the profiles', positiveNumber())
    .option('--idle-power <w>', 'watts of a board whose instances wait, for --power-cap', positiveNumber())
    .option('--picture', 'draw the map: map.svg beside it')
    .option('--explain', 'say why the plan is as it is')
    .option('--strict', 'fail where a service cannot be served')
    .option('--fleet <file.yaml>', 'boards of several types: profiles, counts, prices, limits on watts')
    .option('--from <map.csv>', 'change this running map with the fewest instances created, step by step')
    .option('--consolidate', 'with --from: until the boards cost no more than those of a plan from scratch')
}

/**
 * Options that only apply to plans for one type of board that do not start from a running map, by commander's attribute
 * names.
 */
const ofPlansFromScratch = ['dispatch', 'powerCap', 'idlePower', 'picture', 'explain']
/** Options that do not apply to `--fleet`. */
const notOfFleets = ['gpu', 'profiles', 'gpusPerNode', 'nodes']

/**
 * Rejects options that do not apply to this kind of plan.
 * @param command says which options were given on the command line and which are defaults
 */
function refuseOthers(command: Command): void {
  const { fleet, from, consolidate, gate, dispatch } = command.opts<PlanCommandOptions>()
  if (consolidate && from === undefined) throw new UsageError('--consolidate is for --from; add it')
  const other = fleet !== undefined ? '--fleet' : from !== undefined ? '--from' : null
  if (other === null) {
    if (gate === 'latency' && dispatch !== 'shared') throw new UsageError('--dispatch is for --gate tail; add it')
    return
  }
  const refused = [...ofPlansFromScratch, ...(other === '--fleet' ? notOfFleets : [])]
  const wrong = command.options.find(
    (option) =>
      refused.includes(option.attributeName()) && command.getOptionValueSource(option.attributeName()) === 'cli',
  )
  if (wrong) throw new UsageError(`${wrong.long} is not for ${other}; leave it away`)
}

/** What the planner gets, and the format of its maps. */
interface Inputs {
  readonly fleet: Fleet
  readonly objectives: readonly ServiceObjective[]
  readonly warnings: readonly string[]
  readonly file: string
  readonly format: (boards: readonly MappedBoard[]) => string
  readonly parse: (text: string, file: string) => MappedBoard[]
  /** Absent with `--fleet`. */
  readonly oneType?: { readonly board: MigBoard; readonly profiles: readonly ServiceProfile[] }
}

function ofOneType(sloIndex: number, options: PlanCommandOptions): Inputs {
  const { board, profiles, rows, warnings } = loadRows(options)
  const { gpusPerNode } = options
  return {
    ...{ warnings, file: mapFile(options.output, sloIndex), oneType: { board, profiles } },
    objectives: asUsage(() => scenarioAt(rows, sloIndex)),
    fleet: fleetOf(board.key, profiles, { ...maxBoards(options), boardsPerNode: gpusPerNode }),
    format: (boards) => formatDeploymentMap(gpusOf(boards, gpusPerNode), gpusPerNode),
    parse: (text, file) => asUsage(() => boardsOf(parseDeploymentMap(text, file, gpusPerNode), board.key, gpusPerNode)),
  }
}

function ofFile(sloIndex: number, fleetYaml: string, options: PlanCommandOptions): Inputs {
  const fleet = asUsage(() => loadFleet(fleetYaml, { maxProcesses: options.maxProcesses }))
  const models = [...new Set(fleet.groups.flatMap(({ profiles }) => profiles.map(({ model }) => model)))].sort((a, b) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  )
  const scenarios = loadObjectives(options.slo ?? exampleFolder('example-objectives'), models)
  const objectives = raised(
    asUsage(() => scenarioAt(scenarios, sloIndex)),
    options,
  )
  const file = fleetFile(options.output, sloIndex)
  return { fleet, objectives, warnings: [], file, format: formatFleetMap, parse: parseFleetMap }
}

interface Made extends Reported {
  readonly dispatch: Dispatch
  /** Further files to write, by name. */
  readonly files: Readonly<Record<string, string>>
}

/**
 * `pctodl segments plan`. With `--fleet` it plans for boards of several types; with `--from` it changes a running map.
 */
export async function plan(sloIndex: number, command: Command, terminal: Terminal): Promise<number> {
  refuseOthers(command)
  const options = command.opts<PlanCommandOptions>()
  const { gate, latencyShare, maxIterations } = options
  const traffic = trafficOf(options)
  const manifests = manifestsOf(options)
  const powerCap = powerLimit(options)
  const inputs = options.fleet === undefined ? ofOneType(sloIndex, options) : ofFile(sloIndex, options.fleet, options)
  for (const warning of inputs.warnings) terminal.stderr.write(`warning: ${warning}\n`)
  const how = { gate, latencyShare, maxIterations, ...traffic }
  const folder = path.dirname(inputs.file)
  const made = await endingAtOnce(() => {
    if (options.from !== undefined) return changed(options.from, inputs, how, options)
    return inputs.oneType
      ? planned(inputs, inputs.oneType, { ...how, ...powerCap }, options)
      : plannedFleet(inputs, how)
  })
  const { boards, dispatch, plan, files } = made
  const limits =
    boards.length > MAX_SIMULATED_BOARDS
      ? null
      : serviceLimits(plan.served, traffic, (served, way) =>
          simulateFleet({ boards, served }, inputs.fleet, { ...way, dispatch }),
        )
  const beside = Object.entries({ ...files, ...manifests(boards) }).map(([name, content]) => [
    path.join(folder, name),
    content,
  ])
  const all = { [inputs.file]: inputs.format(boards), ...Object.fromEntries(beside) }
  if (options.from !== undefined) rmSync(path.join(folder, 'steps'), { recursive: true, force: true })
  return reportPlan(made, limits, all, options, terminal)
}

async function planned(
  { objectives }: Inputs,
  { board, profiles }: NonNullable<Inputs['oneType']>,
  how: FleetOptions & { powerCap?: PowerCap },
  options: PlanCommandOptions,
): Promise<Made> {
  const { gate, dispatch, latencyShare, gpusPerNode, picture, explain } = options
  const { boards: maxGpus } = maxBoards(options)
  const plan = await planSegments(profiles, objectives, {
    ...{ ...how, dispatch },
    ...(maxGpus !== undefined && { maxGpus }),
  })
  const bounds =
    gate === 'tail'
      ? explainBounds(plan, ", with the estimate's capacities")
      : explain
        ? explainPlan(plan, profiles, latencyShare).trimEnd()
        : explainBounds(plan)
  return {
    ...{ plan, dispatch, boards: boardsOfGpus(plan.gpus, board.key, gpusPerNode) },
    text: bounds,
    files: picture ? { 'map.svg': drawMap(plan.gpus, board, gpusPerNode) } : {},
  }
}

async function plannedFleet({ fleet, objectives }: Inputs, how: FleetOptions): Promise<Made> {
  const plan = await planFleet(fleet, objectives, how)
  return { plan, boards: plan.boards, dispatch: 'split', text: fleetSummary(plan), files: {} }
}

async function changed(
  from: string,
  { fleet, objectives, parse, format }: Inputs,
  how: FleetOptions,
  { consolidate = false }: PlanCommandOptions,
): Promise<Made> {
  const running = parse(readMap(from, '--from'), from)
  const plan = await replanFleet(running, fleet, objectives, { ...how, consolidate })
  const steps = stepFleetMaps(running, plan.steps).map((map, i) => [
    path.join('steps', `step-${String(i + 1).padStart(3, '0')}.csv`),
    format(map),
  ])
  const text = `${changeOf(plan)}${fleetSummary(plan)}`
  return { plan, boards: plan.boards, dispatch: 'split', text, files: Object.fromEntries(steps) }
}

function powerLimit({ powerCap, idlePower }: PlanCommandOptions): { powerCap?: PowerCap } {
  if (powerCap === undefined) {
    if (idlePower === undefined) return {}
    throw new UsageError('--idle-power is for --power-cap; add it')
  }
  if (idlePower === undefined)
    throw new UsageError('--power-cap needs --idle-power, what a board draws while nothing runs')
  return { powerCap: { boardW: powerCap, idleW: idlePower } }
}

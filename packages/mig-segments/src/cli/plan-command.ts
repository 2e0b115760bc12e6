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
import { type Command, Option } from 'commander'
import { checkFleet } from '../fleet/check-fleet.js'
import { type Fleet, fleetOf } from '../fleet/fleet.js'
import type { FleetPlan, ServedService } from '../fleet/fleet-plan.js'
import type { FleetBoard } from '../fleet/place-fleet.js'
import { DEFAULT_MAX_ITERATIONS, type FleetOptions, planFleet } from '../fleet/plan-fleet.js'
import { simulateLanes } from '../fleet/simulate-fleet.js'
import { loadFleet } from '../input/load-fleet.js'
import { scenarioAt } from '../input/parse-objectives.js'
import { boardsOf, formatDeploymentMap, gpusOf, parseDeploymentMap } from '../map/deployment-map.js'
import { formatFleetMap, type MappedBoard, parseFleetMap, readMap } from '../map/fleet-map.js'
import { drawMap } from '../map/picture.js'
import { explainBounds, explainPlan } from '../output/explain.js'
import { boardsOfGpus, type PowerCap, planSegments } from '../plan-segments.js'
import type { ServiceObjective } from '../profile.js'
import { stepFleetMaps } from '../replan/fleet-migration.js'
import { replanFleet } from '../replan/replan-fleet.js'
import { breaksFirst, serviceLimits } from '../tail/service-limits.js'
import type { SimulationOptions } from '../tail/simulate-queue.js'
import type { Dispatch } from '../tail/ways.js'
import { addManifestOptions, type ManifestOptions, manifestsOf } from './manifest-options.js'
import { addInputOptions, type InputOptions, loadRows, maxBoards, scenariosFor } from './plan-options.js'
import { boardTable, changeOf, fleetSummary, mapFile, report, serviceTable, stepName } from './plan-report.js'
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

/** Boards up to which a plan's services are simulated at rising rates until they break. More take too long. */
const MAX_SIMULATED_BOARDS = 400

/** Options that only apply to new plans for one type of board, by commander's attribute names. */
const ofPlansFromScratch = ['dispatch', 'powerCap', 'idlePower', 'picture', 'explain']

export function addPlanOptions(command: Command): Command {
  const fleet = new Option('--fleet <file.yaml>', 'boards of several types: profiles, counts, prices, limits on watts')
  const from = new Option('--from <map.csv>', 'change this running map step by step, and create few instances')
  return addManifestOptions(addGateOptions(addInputOptions(command)))
    .option(
      '--dispatch <name>',
      'for --gate tail: a queue shared by all segments, or split',
      oneOf('shared', 'split'),
      'shared',
    )
    .option('--max-iterations <n>', 'simplex iterations of each proof', integerFrom(1), DEFAULT_MAX_ITERATIONS)
    .option('--power-cap <w>', 'power cap of each board; needs measured power in the profiles', positiveNumber())
    .option('--idle-power <w>', 'idle power of a board with instances, for --power-cap', positiveNumber())
    .option('--picture', 'also draw the map, as map.svg')
    .option('--explain', 'explain the plan')
    .option('--strict', 'fail if a service cannot be served')
    .addOption(fleet.conflicts([...ofPlansFromScratch, 'gpu', 'profiles', 'gpusPerNode', 'nodes']))
    .addOption(from.conflicts(ofPlansFromScratch))
    .option('--consolidate', 'with --from: continue until the boards cost no more than those of a new plan')
}

interface Made {
  /** For the JSON report. */
  readonly plan: Pick<FleetPlan, 'served' | 'unserved'>
  readonly boards: readonly FleetBoard[]
  readonly dispatch: Dispatch
  /** Text below the tables: bounds, and the steps of a change. */
  readonly text: string
  /** Further files to write, by name. */
  readonly files: Readonly<Record<string, string>>
}

/** What to plan, and the format of its maps. */
interface Inputs {
  readonly fleet: Fleet
  readonly objectives: readonly ServiceObjective[]
  readonly file: string
  readonly format: (boards: readonly MappedBoard[]) => string
  readonly parse: (text: string, file: string) => MappedBoard[]
  readonly plan: (how: FleetOptions) => Promise<Made>
}

function ofOneType(sloIndex: number, options: PlanCommandOptions, terminal: Terminal): Inputs {
  const powerCap = powerLimit(options)
  const { board, profiles, rows } = loadRows(options, terminal)
  const { gpusPerNode, dispatch, latencyShare } = options
  const objectives = asUsage(() => scenarioAt(rows, sloIndex))
  const limits = maxBoards(options)
  return {
    ...{ objectives, file: mapFile(options.output, sloIndex) },
    fleet: fleetOf(board.key, profiles, { ...limits, boardsPerNode: gpusPerNode }),
    format: (boards) => formatDeploymentMap(gpusOf(boards, gpusPerNode), gpusPerNode),
    parse: (text, file) => asUsage(() => boardsOf(parseDeploymentMap(text, file, gpusPerNode), board.key, gpusPerNode)),
    plan: async (how) => {
      const limited = { ...how, dispatch, ...powerCap, gpu: board.key, maxGpus: limits.boards }
      const plan = await planSegments(profiles, objectives, limited)
      const { gpus } = plan
      const isTail = options.gate === 'tail'
      const bounds = explainBounds(plan, isTail ? ", with the estimate's capacities" : '')
      const text = options.explain && !isTail ? explainPlan(plan, profiles, latencyShare).trimEnd() : bounds
      const files = options.picture ? { 'map.svg': drawMap(gpus, board, gpusPerNode) } : {}
      return { plan, dispatch, boards: boardsOfGpus(gpus, board.key, gpusPerNode), text, files }
    },
  }
}

function ofFile(sloIndex: number, fleetYaml: string, options: PlanCommandOptions): Inputs {
  const fleet = asUsage(() => loadFleet(fleetYaml, { maxProcesses: options.maxProcesses }))
  const profiles = fleet.groups.flatMap((group) => group.profiles)
  const rows = scenariosFor(profiles, options)
  const objectives = asUsage(() => scenarioAt(rows, sloIndex))
  const file = mapFile(options.output, sloIndex, true)
  return {
    ...{ fleet, objectives, file, format: formatFleetMap, parse: parseFleetMap },
    plan: async (how) => {
      const plan = await planFleet(fleet, objectives, how)
      return { plan, boards: plan.boards, dispatch: 'split', text: fleetSummary(plan), files: {} }
    },
  }
}

/**
 * `pctodl segments plan`. With `--fleet` it plans for boards of several types; with `--from` it changes a running map.
 */
export async function plan(sloIndex: number, options: PlanCommandOptions, terminal: Terminal): Promise<number> {
  const { gate, latencyShare, maxIterations, from, consolidate, json, strict } = options
  if (consolidate && from === undefined) throw new UsageError('--consolidate is for --from; add it')
  if (gate === 'latency' && options.dispatch !== 'shared') throw new UsageError('--dispatch is for --gate tail; add it')
  const traffic = trafficOf(options)
  const manifests = manifestsOf(options)
  const inputs =
    options.fleet === undefined ? ofOneType(sloIndex, options, terminal) : ofFile(sloIndex, options.fleet, options)
  const { fleet, file, format } = inputs
  const how = { gate, latencyShare, maxIterations, ...traffic }
  const folder = path.dirname(file)
  const made = await endingAtOnce(() =>
    from === undefined ? inputs.plan(how) : changed(from, inputs, { ...how, consolidate: consolidate ?? false }),
  )
  const { boards, dispatch, plan, text } = made
  const { lanes } = checkFleet(fleet)
  const simulate = (served: readonly ServedService[], way: SimulationOptions) =>
    simulateLanes({ boards, served }, lanes, { ...way, dispatch })
  const limits = boards.length > MAX_SIMULATED_BOARDS ? null : serviceLimits(plan.served, traffic, simulate)
  const beside = Object.entries({ ...made.files, ...manifests(boards) })
  const files = [[file, format(boards)] as const, ...beside.map(([name, of]) => [path.join(folder, name), of] as const)]
  if (from !== undefined) rmSync(path.join(folder, 'steps'), { recursive: true, force: true })
  const tables = `${serviceTable(plan.served, limits, terminal)}\n${boardTable(boards, terminal)}`
  const known = limits && { limits, breaksFirst: breaksFirst(plan.served, limits) }
  report({ ...plan, ...known }, `${tables}\n\n${text}`, new Map(files), json, terminal)
  return strict && plan.unserved.length > 0 ? 1 : 0
}

async function changed(
  from: string,
  { fleet, objectives, parse, format }: Inputs,
  how: FleetOptions & { readonly consolidate: boolean },
): Promise<Made> {
  const running = parse(readMap(from, '--from'), from)
  const plan = await replanFleet(running, fleet, objectives, how)
  const maps = stepFleetMaps(running, plan.steps)
  const steps = maps.map((map, i) => [path.join('steps', stepName(i)), format(map)] as const)
  const text = `${changeOf(plan)}${fleetSummary(plan)}`
  return { plan, boards: plan.boards, dispatch: 'split', text, files: Object.fromEntries(steps) }
}

function powerLimit({ powerCap, idlePower }: PlanCommandOptions): { powerCap?: PowerCap } {
  if (powerCap === undefined && idlePower === undefined) return {}
  if (powerCap === undefined) throw new UsageError('--idle-power is for --power-cap; add it')
  if (idlePower === undefined)
    throw new UsageError('--power-cap needs --idle-power, what a board draws while nothing runs')
  return { powerCap: { boardW: powerCap, idleW: idlePower } }
}

import { rmSync } from 'node:fs'
import path from 'node:path'
import { asUsage, endingAtOnce, type Terminal, UsageError } from '@pctodl/command-line'
import {
  boardsOf,
  formatDeploymentMap,
  formatFleetMap,
  type MappedBoard,
  parseDeploymentMap,
  parseFleetMap,
  readMap,
} from '@pctodl/mig-deploy'
import type { Fleet } from '../fleet/fleet.js'
import { fleetOf, gpusOf } from '../fleet/one-board.js'
import { planFleet } from '../fleet/plan-fleet.js'
import { simulateFleet } from '../fleet/simulate-fleet.js'
import { loadFleet } from '../input/load-fleet.js'
import { exampleFolder, loadObjectives } from '../input/load-inputs.js'
import { scenarioAt } from '../input/parse-objectives.js'
import type { ServiceObjective } from '../profile.js'
import { stepFleetMaps } from '../replan/fleet-migration.js'
import { replanFleet } from '../replan/replan-fleet.js'
import { serviceLimits } from '../tail/service-limits.js'
import { boardTable, changeOf, fleetSummary } from './fleet-report.js'
import { type ManifestOptions, manifestsOf } from './manifest-options.js'
import { type InputOptions, loadInputs, maxBoards } from './plan-options.js'
import { fleetFile, MAX_SIMULATED_BOARDS, mapFile, reportPlan } from './plan-report.js'
import { type GateOptions, trafficOf } from './traffic-options.js'

export interface FleetCommandOptions extends InputOptions, ManifestOptions, GateOptions {
  readonly fleet?: string
  readonly maxIterations: number
  readonly from?: string
  readonly consolidate?: boolean
  readonly strict?: boolean
}

/** Input of the planner, and the format of its maps. */
interface Inputs {
  readonly fleet: Fleet
  readonly objectives: readonly ServiceObjective[]
  readonly warnings: readonly string[]
  readonly file: string
  readonly format: (boards: readonly MappedBoard[]) => string
  readonly parse: (text: string, file: string) => MappedBoard[]
}

/** Plan boards of several types, or change a running map (of one type or several). */
export async function fleet(sloIndex: number, options: FleetCommandOptions, terminal: Terminal): Promise<number> {
  const { gate, latencyShare, maxIterations, from, consolidate = false } = options
  const traffic = trafficOf(options)
  const manifests = manifestsOf(options)
  if (consolidate && from === undefined) throw new UsageError('--consolidate is for --from; add it')
  const inputs = options.fleet === undefined ? ofOneType(sloIndex, options) : ofFile(sloIndex, options.fleet, options)
  for (const warning of inputs.warnings) terminal.stderr.write(`warning: ${warning}\n`)
  const how = { gate, latencyShare, maxIterations, ...traffic }
  const running = from === undefined ? [] : inputs.parse(readMap(from, '--from'), from)
  const plan = await endingAtOnce(async () =>
    from === undefined
      ? planFleet(inputs.fleet, inputs.objectives, how)
      : replanFleet(running, inputs.fleet, inputs.objectives, { ...how, consolidate }),
  )
  const { boards } = plan
  const limits =
    boards.length > MAX_SIMULATED_BOARDS
      ? null
      : serviceLimits(plan.served, traffic, (served, way) => simulateFleet({ boards, served }, inputs.fleet, way))
  const folder = path.dirname(inputs.file)
  const steps = 'steps' in plan ? stepFleetMaps(running, plan.steps) : []
  if (from !== undefined) rmSync(path.join(folder, 'steps'), { recursive: true, force: true })
  const files = {
    [inputs.file]: inputs.format(boards),
    ...inFolder(folder, manifests(boards)),
    ...Object.fromEntries(
      steps.map((map, i) => [
        path.join(folder, 'steps', `step-${String(i + 1).padStart(3, '0')}.csv`),
        inputs.format(map),
      ]),
    ),
  }
  const summary = `${'steps' in plan ? changeOf(plan) : ''}${fleetSummary(plan)}`
  return reportPlan(plan, limits, files, [boardTable(plan, terminal), summary, 'limits'], options, terminal)
}

/** Prefix file names with a folder. */
export function inFolder(folder: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [path.join(folder, name), content]))
}

function ofOneType(sloIndex: number, options: FleetCommandOptions): Inputs {
  const { board, profiles, objectives, warnings } = loadInputs(sloIndex, options)
  const { gpusPerNode } = options
  return {
    ...{ objectives, warnings, file: mapFile(options.output, sloIndex) },
    fleet: fleetOf(board.key, profiles, { ...maxBoards(options), boardsPerNode: gpusPerNode }),
    format: (boards) => formatDeploymentMap(gpusOf(boards, gpusPerNode), gpusPerNode),
    parse: (text, file) => asUsage(() => boardsOf(parseDeploymentMap(text, file, gpusPerNode), board.key, gpusPerNode)),
  }
}

function ofFile(sloIndex: number, fleetYaml: string, options: FleetCommandOptions): Inputs {
  const { maxProcesses, rateFactor } = options
  const described = asUsage(() => loadFleet(fleetYaml, { maxProcesses }))
  const models = [...new Set(described.groups.flatMap(({ profiles }) => profiles.map(({ model }) => model)))].sort(
    (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)),
  )
  const scenarios = loadObjectives(options.slo ?? exampleFolder('example-objectives'), models)
  const objectives = asUsage(() => scenarioAt(scenarios, sloIndex)).map((objective) => ({
    ...objective,
    ratePerS: objective.ratePerS * rateFactor,
  }))
  const file = fleetFile(options.output, sloIndex)
  return { fleet: described, objectives, warnings: [], file, format: formatFleetMap, parse: parseFleetMap }
}

import path from 'node:path'
import { endingAtOnce, integerFrom, oneOf, positiveNumber, type Terminal, UsageError } from '@pctodl/command-line'
import { boardsOf, drawMap, formatDeploymentMap } from '@pctodl/mig-deploy'
import type { Command } from 'commander'
import { lateSegments } from '../batch-delay.js'
import { DEFAULT_MAX_ITERATIONS } from '../fleet/plan-fleet.js'
import { explainBounds, explainPlan } from '../output/explain.js'
import { type PowerCap, planSegments, simulatePlan } from '../plan-segments.js'
import { serviceLimits } from '../tail/service-limits.js'
import type { Dispatch } from '../tail/ways.js'
import { type FleetCommandOptions, fleet, inFolder } from './fleet-command.js'
import { addManifestOptions, manifestsOf } from './manifest-options.js'
import { addInputOptions, gpuLimit, loadInputs } from './plan-options.js'
import { MAX_SIMULATED_BOARDS, mapFile, planTables, reportPlan } from './plan-report.js'
import { addGateOptions, trafficOf } from './traffic-options.js'

interface PlanCommandOptions extends FleetCommandOptions {
  readonly dispatch: Dispatch
  readonly powerCap?: number
  readonly idlePower?: number
  readonly picture?: boolean
  readonly explain?: boolean
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

/** Options that only apply to plans from scratch for one type of board, by commander's attribute names. */
const ofPlansFromScratch = ['dispatch', 'powerCap', 'idlePower', 'picture', 'explain']
/** Options that do not apply to `--fleet`. */
const ofOneType = ['gpu', 'profiles', 'gpusPerNode', 'nodes']

/**
 * `pctodl segments plan`. With `--fleet` it plans boards of several types, with `--from` it changes a running map.
 *
 * @param command tells options given on the command line from defaults
 */
export async function planAny(sloIndex: number, command: Command, terminal: Terminal): Promise<number> {
  const options = command.opts<PlanCommandOptions>()
  const other = options.fleet !== undefined ? '--fleet' : options.from !== undefined ? '--from' : null
  if (other === null && !options.consolidate) return plan(sloIndex, options, terminal)
  const refused = [...ofPlansFromScratch, ...(other === '--fleet' ? ofOneType : [])]
  const wrong = command.options.find(
    (option) =>
      refused.includes(option.attributeName()) && command.getOptionValueSource(option.attributeName()) === 'cli',
  )
  if (wrong) throw new UsageError(`${wrong.long} is not for ${other}; leave it away`)
  return fleet(sloIndex, options, terminal)
}

async function plan(sloIndex: number, options: PlanCommandOptions, terminal: Terminal): Promise<number> {
  const { gate, dispatch, latencyShare, maxIterations, gpusPerNode } = options
  const traffic = trafficOf(options)
  if (gate === 'latency' && dispatch !== 'shared') throw new UsageError('--dispatch is for --gate tail; add it')
  const manifests = manifestsOf(options)
  const limit = { ...gpuLimit(options), ...powerLimit(options) }
  const { board, profiles, objectives, warnings } = loadInputs(sloIndex, options)
  for (const warning of warnings) terminal.stderr.write(`warning: ${warning}\n`)
  const how = { gate, dispatch, latencyShare, maxIterations, ...traffic, ...limit }
  const result = await endingAtOnce(() => planSegments(profiles, objectives, how))
  const { gpus } = result
  const limits =
    result.gpuCount > MAX_SIMULATED_BOARDS
      ? null
      : serviceLimits(result.served, traffic, (served, way) =>
          simulatePlan({ gpus, served }, profiles, { ...way, dispatch }),
        )
  const file = mapFile(options.output, sloIndex)
  const files = {
    [file]: formatDeploymentMap(gpus, gpusPerNode),
    ...inFolder(path.dirname(file), {
      ...(options.picture && { 'map.svg': drawMap(gpus, board, gpusPerNode) }),
      ...manifests(boardsOf(gpus, board.key, gpusPerNode)),
    }),
  }
  const bounds =
    gate === 'tail'
      ? explainBounds(result, ", with the estimate's capacities")
      : options.explain
        ? explainPlan(result, profiles, latencyShare).trimEnd()
        : explainBounds(result)
  const parts = [planTables(result, board, gpusPerNode, terminal), 'limits', bounds]
  const late = gate === 'tail' ? {} : { lateSegments: lateSegments(result) }
  return reportPlan({ ...result, ...late }, limits, files, parts, options, terminal)
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

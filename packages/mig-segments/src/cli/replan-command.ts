import { asUsage, endingAtOnce, integerFrom, numberBetween, type Terminal } from '@pctodl/command-line'
import { boardsOf, parseDeploymentMap, readMap } from '@pctodl/mig-deploy'
import type { Command } from 'commander'
import { fleetOf, gpusOf } from '../fleet/one-board.js'
import { DEFAULT_MOST_ITERATIONS } from '../fleet/plan-fleet.js'
import { replanFleet } from '../replan/replan-fleet.js'
import { boardTable, changeOf, fleetSummary } from './fleet-report.js'
import { addInputOptions, type InputOptions, loadInputs, maxBoards } from './plan-options.js'
import { mapFile, writePlanFiles } from './plan-report.js'

interface ReplanCommandOptions extends InputOptions {
  readonly from: string
  readonly consolidate?: boolean
  readonly movesPerGpu?: number
  readonly mostIterations: number
}

export function addReplanOptions(command: Command): Command {
  return addInputOptions(command)
    .requiredOption('--from <map.csv>', 'the map that runs now')
    .option('--consolidate', 'move segments until no fewer GPUs would do')
    .option(
      '--moves-per-gpu <n>',
      'take a GPU more where it saves more than so many created segments',
      numberBetween(0, 1e6),
    )
    .option('--most-iterations <n>', 'simplex iterations of each proof', integerFrom(1), DEFAULT_MOST_ITERATIONS)
}

export async function replan(sloIndex: number, options: ReplanCommandOptions, terminal: Terminal): Promise<number> {
  const { board, profiles, objectives } = loadInputs(sloIndex, options)
  const { latencyShare, consolidate = false, gpusPerNode, movesPerGpu, mostIterations } = options
  const running = parseDeploymentMap(readMap(options.from, '--from'), options.from, gpusPerNode)
  const fleet = fleetOf(board.key, profiles, { ...maxBoards(options), boardsPerNode: gpusPerNode })
  const how = {
    latencyShare,
    consolidate,
    mostIterations,
    ...(movesPerGpu !== undefined && { movesPerBoard: movesPerGpu }),
  }
  const current = asUsage(() => boardsOf(running, board.key, gpusPerNode))
  const result = await endingAtOnce(() => replanFleet(current, fleet, objectives, how))
  const files = writePlanFiles(mapFile(options.output, sloIndex), gpusOf(result.boards, gpusPerNode), gpusPerNode)
  terminal.stdout.write(
    options.json
      ? `${JSON.stringify({ ...result, files }, null, 2)}\n`
      : `${boardTable(result, terminal)}\n\n${changeOf(result)}${fleetSummary(result)}\n\nWritten:\n${files.map((file) => `  ${file}`).join('\n')}\n`,
  )
  for (const { message } of result.unserved) terminal.stderr.write(`not served: ${message}\n`)
  return 0
}

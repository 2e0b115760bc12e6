import { asUsage, endingAtOnce, type Terminal } from '@pctodl/command-line'
import { boardsOf, parseDeploymentMap, readMap } from '@pctodl/mig-deploy'
import { fleetOf, gpusOf } from '../fleet/one-board.js'
import { replanFleet } from '../replan/replan-fleet.js'
import { boardTable, changeOf, fleetSummary } from './fleet-report.js'
import { type InputOptions, loadInputs, maxBoards } from './plan-options.js'
import { mapFile, writePlanFiles } from './plan-report.js'

export interface ReplanCommandOptions extends InputOptions {
  readonly from: string
  readonly consolidate?: boolean
  readonly maxIterations: number
}

export async function replan(sloIndex: number, options: ReplanCommandOptions, terminal: Terminal): Promise<number> {
  const { board, profiles, objectives } = loadInputs(sloIndex, options)
  const { latencyShare, consolidate = false, gpusPerNode, maxIterations } = options
  const running = parseDeploymentMap(readMap(options.from, '--from'), options.from, gpusPerNode)
  const fleet = fleetOf(board.key, profiles, { ...maxBoards(options), boardsPerNode: gpusPerNode })
  const how = {
    latencyShare,
    consolidate,
    maxIterations,
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

import { integerFrom, type Terminal } from '@pctodl/command-line'
import type { MigBoard } from '@pctodl/mig-deploy'
import { parseDeploymentMap, readMap } from '@pctodl/mig-deploy'
import type { Command } from 'commander'
import { counted } from '../output/counted.js'
import type { MigrationStep } from '../replan/migration.js'
import { type Replan, replan as replanMap } from '../replan/replan.js'
import { addInputOptions, gpuLimit, type InputOptions, loadInputs } from './plan-options.js'
import { mapFile, planTables, writePlanFiles } from './plan-report.js'

interface ReplanCommandOptions extends InputOptions {
  readonly from: string
  readonly consolidate?: boolean
  readonly movesPerGpu?: number
}

export function addReplanOptions(command: Command): Command {
  return addInputOptions(command)
    .requiredOption('--from <map.csv>', 'the map that runs now')
    .option('--consolidate', 'move segments until no fewer GPUs would do')
    .option('--moves-per-gpu <n>', 'take a GPU more where it saves more than so many created segments', integerFrom(0))
}

export async function replan(sloIndex: number, options: ReplanCommandOptions, terminal: Terminal): Promise<number> {
  const { board, profiles, objectives } = loadInputs(sloIndex, options)
  const current = parseDeploymentMap(readMap(options.from, '--from'), options.from, options.gpusPerNode)
  const { latencyShare, consolidate = false, gpusPerNode, movesPerGpu } = options
  const result = replanMap(current, profiles, objectives, {
    ...gpuLimit(options),
    latencyShare,
    consolidate,
    ...(movesPerGpu !== undefined && { movesPerGpu }),
  })
  const files = writePlanFiles(mapFile(options.output, sloIndex), result.gpus, gpusPerNode)
  if (options.json) terminal.stdout.write(`${JSON.stringify({ ...result, files }, null, 2)}\n`)
  else {
    const steps = result.steps.map((step, i) => `${String(i + 1).padStart(3)}. ${describe(step, board, gpusPerNode)}`)
    const parts = [planTables(result, board, gpusPerNode, terminal), ...(steps.length > 0 ? [steps.join('\n')] : [])]
    parts.push(summary(result), `Written:\n${files.map((file) => `  ${file}`).join('\n')}`)
    terminal.stdout.write(`${parts.join('\n\n')}\n`)
  }
  for (const { message } of result.unserved) terminal.stderr.write(`not served: ${message}\n`)
  return 0
}

function describe({ kind, gpu, segment, shortfall }: MigrationStep, board: MigBoard, gpusPerNode: number): string {
  const { sizeGpcs, start, model, batchSize, processes } = segment
  const place = `node ${Math.floor(gpu / gpusPerNode)} GPU ${gpu % gpusPerNode}, ${board.profileNames[sizeGpcs]}@${start}`
  const text = `${kind} ${place}: ${model} ${batchSize}x${processes}`
  if (!shortfall) return text
  return `${text} (meanwhile ${shortfall.capacity.toFixed(0)} of ${shortfall.needed.toFixed(0)} items/s)`
}

function summary(result: Replan): string {
  const { gpuCount, freshGpus, kept, created, restarted, removed, reconfiguredGpus } = result
  const fewer = freshGpus < gpuCount ? `; ${freshGpus} would do, see --consolidate` : ''
  return (
    `${counted(gpuCount, 'GPU')}${fewer}; ${kept} segments stay, ${restarted} restart in place, ${created} are created, ` +
    `${removed} removed, on ${counted(reconfiguredGpus, 'GPU')}`
  )
}

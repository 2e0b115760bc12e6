import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { integerFrom, numberBetween, type Terminal, UsageError } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import type { Command } from 'commander'
import { DEFAULT_GPUS_PER_NODE } from '../map/deployment-map.js'
import { type DeployOptions, deployMaps } from '../node/deploy-maps.js'
import { mapFile } from './plan-report.js'

interface DeployCommandOptions extends DeployOptions {
  readonly map?: string
  readonly fleet?: boolean
  readonly through?: string
  readonly output: string
  readonly down?: boolean
}

export function addDeployOptions(command: Command): Command {
  return command
    .requiredOption('--node <n>', "this machine's number in the map", integerFrom(0))
    .option('--map <file.csv>', 'the map (default: the map of the SLO row in the output folder)')
    .option('--fleet', "use the row's fleet map, fleet.csv; nodes are numbered per board type")
    .option(
      '--through <folder>',
      'deploy the maps of this folder in the order of their names, e.g. the steps of a schedule',
    )
    .option('--settle <s>', 'seconds to wait after each map until workers are ready', numberBetween(0, 86_400), 0)
    .option('--output <folder>', 'folder of the maps', './deployment')
    .option('--gpus-per-node <n>', 'GPUs of a node', integerFrom(1), DEFAULT_GPUS_PER_NODE)
    .option('--gpu <name>', 'board (default: from nvidia-smi)')
    .option(
      '--command <words>',
      'a worker, e.g. "python serve.py --model {model} --batch {batch}"; default: no workers',
    )
    .option(
      '--directory <folder>',
      'MPS daemons, worker logs and the state of the deployment',
      `/tmp/pctodl-segments-${process.getuid?.() ?? 0}`,
    )
    .option('--apply', 'run the commands; otherwise they are only printed')
    .option('--down', 'remove everything that was deployed here')
    .option('--json', 'print a JSON report on standard output')
}

export async function deploy(
  sloIndex: number | undefined,
  options: DeployCommandOptions,
  terminal: Terminal,
): Promise<number> {
  return deployMaps(options.down ? null : mapFiles(sloIndex, options), options, terminal)
}

/** Map files to deploy, in order. */
function mapFiles(sloIndex: number | undefined, options: DeployCommandOptions): string | string[] {
  const { through, map, fleet } = options
  if (through === undefined) {
    if (options.settle > 0) throw new UsageError('--settle is for --through; add it')
    if (map === undefined && sloIndex === undefined) throw new UsageError('name an SLO row, or a map with --map')
    return map ?? mapFile(options.output, sloIndex!, fleet)
  }
  if (map !== undefined || sloIndex !== undefined) {
    throw new UsageError('--through names the maps; leave the SLO row and --map away')
  }
  if (!existsSync(through)) throw new PctodlError('NO_MAPS', `${through} does not exist; name a period of a schedule`)
  const maps = readdirSync(through).filter((name) => name.endsWith('.csv'))
  return maps.sort().map((name) => path.join(through, name))
}

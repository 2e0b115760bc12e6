import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { integerFrom, numberBetween, type Terminal, UsageError } from '@pctodl/command-line'
import {
  applyActions,
  boardNamed,
  DEFAULT_GPUS_PER_NODE,
  type DeployAction,
  type DeployedSegment,
  deployActions,
  fleetSegmentsOfNode,
  geometryOf,
  isFleetMap,
  type NodeLayout,
  NodeMachine,
  parseDeploymentMap,
  parseFleetMap,
  productOfNode,
  readDeployment,
  readGpus,
  readLayout,
  renderAction,
  segmentsOfNode,
  splitWords,
  type TargetSegment,
} from '@pctodl/mig-deploy'
import { PctodlError } from '@pctodl/platform'
import type { Command } from 'commander'
import { counted } from '../output/counted.js'
import { fleetFile, mapFile } from './plan-report.js'

interface DeployCommandOptions {
  readonly node: number
  readonly map?: string
  readonly fleet?: boolean
  readonly through?: string
  readonly settle: number
  readonly output: string
  readonly gpusPerNode: number
  readonly gpu?: string
  readonly command?: string
  readonly directory: string
  readonly apply?: boolean
  readonly down?: boolean
  readonly json?: boolean
}

export function addDeployOptions(command: Command): Command {
  return command
    .requiredOption('--node <n>', "this machine's number in the map", integerFrom(0))
    .option('--map <file.csv>', 'the map (default: that of the SLO row, in the output folder)')
    .option('--fleet', "the row's map of a fleet, fleet.csv; nodes count within boards of this machine's type")
    .option('--through <folder>', 'deploy the maps of this folder one after the other, by name: a period of a schedule')
    .option('--settle <s>', 'seconds to wait after each of them, for workers to be ready', numberBetween(0, 86_400), 0)
    .option('--output <folder>', 'where maps are', './deployment')
    .option('--gpus-per-node <n>', 'GPUs of a node', integerFrom(1), DEFAULT_GPUS_PER_NODE)
    .option('--gpu <name>', 'board (default: what nvidia-smi says)')
    .option(
      '--command <words>',
      'a worker, e.g. "python serve.py --model {model} --batch {batch}"; without: no workers',
    )
    .option(
      '--directory <folder>',
      'MPS daemons, worker logs and the state of the deployment',
      `/tmp/pctodl-segments-${process.getuid?.() ?? 0}`,
    )
    .option('--apply', 'do it; without, print the commands only')
    .option('--down', 'take everything down that was deployed here')
    .option('--json', 'print a JSON report on standard output')
}

export async function deploy(
  sloIndex: number | undefined,
  options: DeployCommandOptions,
  terminal: Terminal,
): Promise<number> {
  const command = splitWords(options.command ?? '')
  const targets = options.down ? [[]] : await readTargets(sloIndex, options)
  const stateFile = path.join(options.directory, 'deployment.json')
  /** What stands, and what must be done. */
  const look = async (machine: NodeMachine | null, target: readonly TargetSegment[]) => {
    const deployed = readDeployment(stateFile)
    const layout = await layoutOrNothing(options, terminal)
    const board = boardNamed(options.gpu ?? productOfNode(layout.gpus))
    const health = machine ?? { workersRun: () => false, mpsRuns: () => false }
    const actions = deployActions(target, deployed, layout, board, command.length > 0, health)
    return {
      deployed,
      actions,
      commands: actions.flatMap((action) => renderAction(action, options.directory, command)),
    }
  }
  if (!options.apply) {
    const machine = readDeployment(stateFile).length > 0 ? await NodeMachine.open() : null
    const { deployed, commands } = await look(machine, targets[0] ?? deployedTargets(stateFile))
    const more = targets.length > 1 ? [`# then ${counted(targets.length - 1, 'map')} more`] : []
    print(terminal, options, { applied: false, commands: [...commands, ...more], segments: deployed })
    return 0
  }
  const machine = await NodeMachine.open()
  const touched = new Set([...targets.flat(), ...readDeployment(stateFile)].map(({ gpu }) => gpu))
  const release = machine.lease((await readGpus()).filter(({ index }) => touched.has(index)))
  const done: string[] = []
  let segments: readonly DeployedSegment[] = readDeployment(stateFile)
  try {
    for (const target of targets) {
      const { deployed, actions, commands } = await look(machine, target)
      done.push(...commands)
      segments = await applyActions(actions, deployed, machine, {
        directory: options.directory,
        stateFile,
        command,
        signal: terminal.signal,
        onAction: (action: DeployAction) => {
          for (const line of renderAction(action, options.directory, command)) terminal.stderr.write(`${line}\n`)
        },
      })
      // Nothing goes before what was just created serves.
      if (actions.length > 0 && options.settle > 0)
        await sleep(1000 * options.settle, undefined, { signal: terminal.signal })
    }
    print(terminal, options, { applied: true, commands: done, segments })
    return 0
  } finally {
    release()
  }
}

/** What runs, as a target: nothing to do. */
function deployedTargets(stateFile: string): TargetSegment[] {
  return readDeployment(stateFile).map(
    ({ instanceId: _, uuid: __, mpsDirectory: ___, workers: ____, ...target }) => target,
  )
}

/** The maps to be deployed, one after the other. */
async function readTargets(sloIndex: number | undefined, options: DeployCommandOptions): Promise<TargetSegment[][]> {
  const { through, map, fleet } = options
  if (through === undefined) {
    if (options.settle > 0) throw new UsageError('--settle is for --through; add it')
    if (map === undefined && sloIndex === undefined) throw new UsageError('name an SLO row, or a map with --map')
    const file = map ?? (fleet ? fleetFile(options.output, sloIndex!) : mapFile(options.output, sloIndex!))
    const target = await readTarget(file, options)
    if (target.length > 0) return [target]
    throw new PctodlError('EMPTY_NODE', `${file} has nothing on node ${options.node}; to take a node down, use --down`)
  }
  if (map !== undefined || sloIndex !== undefined) {
    throw new UsageError('--through names the maps; leave the SLO row and --map away')
  }
  if (!existsSync(through)) throw new PctodlError('NO_MAPS', `${through} does not exist; name a period of a schedule`)
  const maps = readdirSync(through).filter((name) => name.endsWith('.csv'))
  return Promise.all(maps.sort().map((name) => readTarget(path.join(through, name), options)))
}

/** This node's part of a map, be it of one type of board or of a fleet. */
async function readTarget(file: string, { node, gpusPerNode, gpu }: DeployCommandOptions): Promise<TargetSegment[]> {
  const text = readFileSync(file, 'utf8')
  if (!isFleetMap(text)) return segmentsOfNode(parseDeploymentMap(text, file, gpusPerNode), node, gpusPerNode)
  const boards = parseFleetMap(text, file)
  const types = [...new Set(boards.map((board) => board.gpu))]
  const type = gpu ?? (types.length === 1 ? types[0]! : productOfNode(await readGpus()))
  return fleetSegmentsOfNode(boards, geometryOf(type).key, node)
}

/** Without a driver a dry run shows what an empty machine would need. */
async function layoutOrNothing({ apply, gpu }: DeployCommandOptions, { stderr }: Terminal): Promise<NodeLayout> {
  try {
    return await readLayout()
  } catch (error) {
    if (apply || !(error instanceof PctodlError) || error.code !== 'NO_SMI') throw error
    if (gpu === undefined) throw new UsageError('there is no nvidia-smi here; name the board with --gpu')
    stderr.write('there is no nvidia-smi here; these are the commands for a node without instances\n')
    const gpus = Array.from({ length: 16 }, (_, index) => ({ index, uuid: '', name: gpu, migEnabled: false }))
    return { gpus, instances: [] }
  }
}

function print(
  { stdout }: Terminal,
  { json }: DeployCommandOptions,
  result: { applied: boolean; commands: readonly string[]; segments: readonly DeployedSegment[] },
): void {
  if (json) stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  else if (!result.applied) {
    for (const line of result.commands) stdout.write(`${line}\n`)
    stdout.write(result.commands.length === 0 ? 'nothing to do\n' : '# nothing was done; add --apply\n')
  } else {
    const workers = result.segments.reduce((sum, segment) => sum + segment.workers.length, 0)
    stdout.write(`${counted(result.segments.length, 'segment')} with ${counted(workers, 'worker')} stand\n`)
  }
}

import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Terminal, UsageError } from '@pctodl/command-line'
import { geometryOf, PctodlError } from '@pctodl/platform'
import { boardsOf } from '../map/boards-of.js'
import { parseDeploymentMap } from '../map/deployment-map.js'
import { isFleetMap, parseFleetMap, readMap } from '../map/fleet-map.js'
import { splitWords } from '../worker-command.js'
import { applyActions } from './apply-actions.js'
import { healthBy, leaseGpus, loadBoardControl } from './board-control.js'
import { type DeployAction, type DeployedHealth, deployActions, segmentsOfNode } from './deploy-actions.js'
import { type DeployedSegment, readDeployment, type TargetSegment } from './deployment-state.js'
import { type NodeLayout, productOfNode, readGpus, readLayout } from './mig-layout.js'
import { renderAction } from './render-actions.js'

/** Options for deploying maps on a node. */
export interface DeployOptions {
  /** Number of this machine as a node in the maps, from 0. */
  readonly node: number
  readonly gpusPerNode: number
  /** Name of the board. Default: what `nvidia-smi` reports. */
  readonly gpu?: string
  /** Command of a worker, as one text. Default: no workers. */
  readonly command?: string
  /** Folder for MPS daemons, logs and the state of the deployment. */
  readonly directory: string
  /** Time to wait after each map until workers are ready, s. */
  readonly settle: number
  /** Whether to perform the actions. Default: only print the commands. */
  readonly apply?: boolean
  readonly json?: boolean
}

/**
 * Makes a node run its part of a map, or of several maps one after another, or prints the commands for it.
 *
 * @param files one map, of boards of one type or of a fleet; or several, some of which may have nothing for this node;
 *   null to remove everything
 * @returns the exit code
 * @throws PctodlError `EMPTY_NODE` for a single map that has nothing for this node; InvalidInputError for one that
 *   cannot be read
 * @throws UsageError if there is no `nvidia-smi` and no board is named
 */
export async function deployMaps(
  files: string | readonly string[] | null,
  options: DeployOptions,
  terminal: Terminal,
): Promise<number> {
  const command = splitWords(options.command ?? '')
  const targets =
    files === null ? [[]] : await Promise.all([files].flat().map((file) => readTarget(file, options, terminal)))
  if (typeof files === 'string' && targets[0]!.length === 0) {
    throw new PctodlError('EMPTY_NODE', `${files} has nothing on node ${options.node}; to take a node down, use --down`)
  }
  const { directory, settle } = options
  const stateFile = path.join(directory, 'deployment.json')
  const actionsTo = async (
    target: readonly TargetSegment[],
    deployed: readonly DeployedSegment[],
    health: DeployedHealth,
  ) => {
    const layout = await layoutOrNothing(options, terminal)
    geometryOf(options.gpu ?? productOfNode(layout.gpus))
    return deployActions(target, deployed, layout, command.length > 0, health)
  }
  const rendered = (actions: readonly DeployAction[]) =>
    actions.flatMap((action) => renderAction(action, directory, command))
  const before = readDeployment(stateFile)
  if (!options.apply) {
    const nothingRuns = { workersRun: () => false, mpsRuns: () => false }
    const health = before.length > 0 ? healthBy(await loadBoardControl()) : nothingRuns
    // Without any map, the target is what is deployed, which needs no action.
    const commands = rendered(await actionsTo(targets[0] ?? before, before, health))
    const more = targets.length > 1 ? [`# then ${counted(targets.length - 1, 'map')} more`] : []
    print(terminal, options, { applied: false, commands: [...commands, ...more], segments: before })
    return 0
  }
  const control = await loadBoardControl()
  const touched = new Set([...targets.flat(), ...before].map(({ gpu }) => gpu))
  const release = leaseGpus(
    control,
    (await readGpus()).filter(({ index }) => touched.has(index)),
  )
  try {
    const commands: string[] = []
    // Read again, because another deployment may have ended before this one took the leases.
    let segments: readonly DeployedSegment[] = readDeployment(stateFile)
    for (const target of targets) {
      const actions = await actionsTo(target, segments, healthBy(control))
      commands.push(...rendered(actions))
      segments = await applyActions(actions, segments, control, { stateFile, directory, command }, terminal)
      // New workers must serve before anything else is removed.
      if (actions.length > 0 && settle > 0) await sleep(1000 * settle, undefined, { signal: terminal.signal })
    }
    print(terminal, options, { applied: true, commands, segments })
    return 0
  } finally {
    release()
  }
}

/** Reads this node's part of a map, of one type of board or of a fleet. */
async function readTarget(file: string, options: DeployOptions, terminal: Terminal): Promise<TargetSegment[]> {
  const { node, gpusPerNode, gpu } = options
  const text = readMap(file, 'map')
  const board = async () => geometryOf(gpu ?? productOfNode((await layoutOrNothing(options, terminal)).gpus)).key
  if (!isFleetMap(text)) {
    const gpus = parseDeploymentMap(text, file, gpusPerNode).filter(
      ({ index }) => Math.floor(index / gpusPerNode) === node,
    )
    if (gpus.length === 0) return []
    const key = await board()
    return segmentsOfNode(boardsOf(gpus, key, gpusPerNode), key, node)
  }
  const boards = parseFleetMap(text, file)
  const [only, ...others] = new Set(boards.map((each) => each.gpu))
  return segmentsOfNode(
    boards,
    gpu === undefined && only !== undefined && others.length === 0 ? only : await board(),
    node,
  )
}

/** Reads the layout of the node. For a dry run without a driver, it is that of an empty machine. */
async function layoutOrNothing({ apply, gpu }: DeployOptions, { stderr }: Terminal): Promise<NodeLayout> {
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

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function print(
  { stdout }: Terminal,
  { json }: DeployOptions,
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

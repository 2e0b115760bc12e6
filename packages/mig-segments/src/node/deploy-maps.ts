import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { jsonText, type Terminal, UsageError } from '@pctodl/command-line'
import { geometryOf, PctodlError } from '@pctodl/platform'
import { boardsOf, parseDeploymentMap } from '../map/deployment-map.js'
import { isFleetMap, parseFleetMap, readMap } from '../map/fleet-map.js'
import { splitWords } from '../worker-command.js'
import { applyActions } from './apply-actions.js'
import { healthBy, leaseGpus, loadBoardControl } from './board-control.js'
import { type DeployAction, deployActions, renderAction, segmentsOfNode } from './deploy-actions.js'
import { type DeployedSegment, readDeployment } from './deployment-state.js'
import { type NodeLayout, productOfNode, readGpus, readLayout } from './mig-layout.js'

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
  const { directory, settle, node } = options
  const command = splitWords(options.command ?? '')
  const maps = [files ?? []].flat().map((file) => readBoards(readMap(file, 'map'), file, options))
  const assertNamed = (isNamed: boolean) => {
    if (isNamed || typeof files !== 'string') return
    throw new PctodlError('EMPTY_NODE', `${files} has nothing on node ${node}; to take a node down, use --down`)
  }
  assertNamed(maps[0]?.isNamed ?? false)
  const layout = await layoutOrNothing(options, terminal)
  const board = geometryOf(options.gpu ?? productOfNode(layout.gpus)).key
  const targets = files === null ? [[]] : maps.map(({ of }) => segmentsOfNode(of(board), board, node))
  assertNamed(targets[0]?.length !== 0)
  const stateFile = path.join(directory, 'deployment.json')
  const withWorkers = command.length > 0
  const rendered = (actions: readonly DeployAction[]) =>
    actions.flatMap((action) => renderAction(action, directory, command))
  // The state is read again below, because another deployment may end before this one takes the leases.
  const before = readDeployment(stateFile)
  if (!options.apply) {
    const nothingRuns = { workersRun: () => false, mpsRuns: () => false }
    const health = before.length > 0 ? healthBy(await loadBoardControl()) : nothingRuns
    // Without any map, the target is what is deployed, which needs no action.
    const commands = rendered(deployActions(targets[0] ?? before, before, layout, withWorkers, health))
    if (targets.length > 1) commands.push(`# then ${counted(targets.length - 1, 'map')} more`)
    print(terminal, options, { applied: false, commands, segments: before })
    return 0
  }
  const control = await loadBoardControl()
  const touched = new Set([...targets.flat(), ...before].map(({ gpu }) => gpu))
  const gpus = await readGpus()
  const release = leaseGpus(
    control,
    gpus.filter(({ index }) => touched.has(index)),
  )
  try {
    const commands: string[] = []
    let segments: readonly DeployedSegment[] = readDeployment(stateFile)
    for (const target of targets) {
      const actions = deployActions(target, segments, await readLayout(), withWorkers, healthBy(control))
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

/** Reads a map: whether it names the node, and a function for its boards, which may need the type of board. */
function readBoards(text: string, file: string, { node, gpusPerNode }: DeployOptions) {
  if (isFleetMap(text)) {
    const boards = parseFleetMap(text, file)
    return { isNamed: boards.some((each) => each.node === node), of: () => boards }
  }
  const gpus = parseDeploymentMap(text, file, gpusPerNode)
  const isNamed = gpus.some(({ index }) => Math.floor(index / gpusPerNode) === node)
  return { isNamed, of: (board: string) => boardsOf(gpus, board, gpusPerNode) }
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

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

function print(
  { stdout }: Terminal,
  { json }: DeployOptions,
  result: { applied: boolean; commands: readonly string[]; segments: readonly DeployedSegment[] },
): void {
  const { applied, commands, segments } = result
  if (json) stdout.write(jsonText(result))
  else if (applied) {
    const workers = segments.reduce((sum, segment) => sum + segment.workers.length, 0)
    stdout.write(`${counted(segments.length, 'segment')} with ${counted(workers, 'worker')} stand\n`)
  } else {
    const note = commands.length === 0 ? 'nothing to do' : '# nothing was done; add --apply'
    stdout.write(`${[...commands, note].join('\n')}\n`)
  }
}

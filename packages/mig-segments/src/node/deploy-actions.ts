import { join } from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { checkInteger } from '../check.js'
import type { MappedBoard } from '../map/fleet-map.js'
import { quoted, workerCommand } from '../worker-command.js'
import type { DeployedSegment, TargetSegment } from './deployment-state.js'
import type { NodeLayout } from './mig-layout.js'

/** One action on a node. */
export type DeployAction =
  | { readonly kind: 'stop-workers' | 'stop-mps'; readonly segment: DeployedSegment }
  | { readonly kind: 'destroy-instance'; readonly gpu: number; readonly instanceId: number; readonly profile: string }
  | { readonly kind: 'enable-mig' | 'reset-clock'; readonly gpu: number }
  | { readonly kind: 'lock-clock'; readonly gpu: number; readonly smClockMhz: number }
  | { readonly kind: 'create-instance' | 'start-mps' | 'start-workers'; readonly segment: TargetSegment }

export interface DeployedHealth {
  /** Whether all of its workers run. */
  workersRun(segment: DeployedSegment): boolean
  mpsRuns(segment: DeployedSegment): boolean
}

/** Returns a node's part of a map, for boards with the key `gpu`. */
export function segmentsOfNode(boards: readonly MappedBoard[], gpu: string, node: number): TargetSegment[] {
  checkInteger('node', node, 0)
  return boards
    .filter((board) => board.gpu === gpu && board.node === node)
    .flatMap(({ index, smClockMhz, segments }) =>
      segments.map((segment) => ({ ...segment, gpu: index, ...(smClockMhz !== undefined && { smClockMhz }) })),
    )
}

/**
 * Returns the actions after which a node runs exactly these segments. Segments that already run correctly are not
 * touched. All other instances on the map's GPUs are removed, and so are those of an earlier deployment on other GPUs.
 *
 * @param withWorkers whether workers are started, or only instances and their MPS daemons
 * @throws PctodlError `NO_SUCH_GPU` for a GPU that the node does not have
 */
export function deployActions(
  target: readonly TargetSegment[],
  deployed: readonly DeployedSegment[],
  layout: NodeLayout,
  withWorkers: boolean,
  health: DeployedHealth,
): DeployAction[] {
  const touched = new Set([...target, ...deployed].map(({ gpu }) => gpu))
  const absent = target.find(({ gpu }) => !layout.gpus.some(({ index }) => index === gpu))
  if (absent) {
    const which = `GPU ${absent.gpu} of this node, which has ${layout.gpus.length}`
    throw new PctodlError('NO_SUCH_GPU', `the map uses ${which}; check --node`)
  }
  const present = deployed.filter((segment) =>
    layout.instances.some(({ gpu, instanceId }) => gpu === segment.gpu && instanceId === segment.instanceId),
  )
  const sameInstance = (a: TargetSegment, b: TargetSegment) => samePlace(a, b) && a.profile === b.profile
  const firstAtPlace = <T extends TargetSegment>(segments: readonly T[]) =>
    segments.filter((segment, i) => segments.findIndex((other) => samePlace(segment, other)) === i)
  const sameSegment = (a: TargetSegment, b: DeployedSegment) =>
    sameInstance(a, b) && a.model === b.model && a.batchSize === b.batchSize && a.processes === b.processes
  const running = (segment: TargetSegment) => {
    const found = present.find((other) => sameSegment(segment, other))
    if (!found || !health.mpsRuns(found)) return undefined
    return !withWorkers || (found.workers.length > 0 && health.workersRun(found)) ? found : undefined
  }
  const kept = new Set(target.map(running))
  const reused = (segment: TargetSegment) => present.find((other) => sameInstance(segment, other))

  const actions: DeployAction[] = []
  const leaving = deployed.filter((segment) => !kept.has(segment))
  for (const segment of leaving) if (segment.workers.length > 0) actions.push({ kind: 'stop-workers', segment })
  actions.push(...clockActions(target, deployed, present))
  for (const segment of firstAtPlace(leaving)) {
    if (!target.some((other) => sameInstance(segment, other)) || !present.includes(segment)) {
      actions.push({ kind: 'stop-mps', segment })
    }
  }
  for (const { gpu, instanceId, profile } of layout.instances) {
    if (!touched.has(gpu)) continue
    const ours = present.find((segment) => segment.gpu === gpu && segment.instanceId === instanceId)
    if (ours && target.some((segment) => sameInstance(segment, ours))) continue
    actions.push({ kind: 'destroy-instance', gpu, instanceId, profile })
  }
  for (const { index, migEnabled } of layout.gpus) {
    if (!migEnabled && target.some(({ gpu }) => gpu === index)) actions.push({ kind: 'enable-mig', gpu: index })
  }
  const instances = firstAtPlace(target)
  for (const segment of instances) if (!reused(segment)) actions.push({ kind: 'create-instance', segment })
  for (const segment of instances) {
    const standing = reused(segment)
    if (!standing || !health.mpsRuns(standing)) actions.push({ kind: 'start-mps', segment })
  }
  if (withWorkers) {
    for (const segment of target) if (!running(segment)) actions.push({ kind: 'start-workers', segment })
  }
  return actions
}

/** Whether two segments or instances start at the same slice of the same GPU. */
export function samePlace(a: Pick<TargetSegment, 'gpu' | 'start'>, b: Pick<TargetSegment, 'gpu' | 'start'>): boolean {
  return a.gpu === b.gpu && a.start === b.start
}

/**
 * Locks boards that do not run at the clock of the map, and resets boards for which the map has no clock. If no
 * deployed instance of a board is left, the machine may have been rebooted, which ends the lock.
 */
function clockActions(
  target: readonly TargetSegment[],
  deployed: readonly DeployedSegment[],
  present: readonly DeployedSegment[],
): DeployAction[] {
  const clocksOf = (segments: readonly TargetSegment[]) =>
    new Map(segments.map(({ gpu, smClockMhz }) => [gpu, smClockMhz]))
  const [wanted, before, locked] = [clocksOf(target), clocksOf(deployed), clocksOf(present)]
  return [...new Set([...wanted.keys(), ...before.keys()])].flatMap((gpu): DeployAction[] => {
    const smClockMhz = wanted.get(gpu)
    if (smClockMhz === undefined) return before.get(gpu) === undefined ? [] : [{ kind: 'reset-clock', gpu }]
    return smClockMhz === locked.get(gpu) ? [] : [{ kind: 'lock-clock', gpu, smClockMhz }]
  })
}

/** Folder of an instance's MPS daemon. */
export function mpsDirectory(directory: string, { gpu, start }: { gpu: number; start: number }): string {
  return join(directory, `gpu${gpu}-slice${start}`)
}

/** Arguments of the `nvidia-smi` calls of an action, in order; empty if it needs none. */
export function smiCalls(action: DeployAction): string[][] {
  const on = ['-i', String('gpu' in action ? action.gpu : action.segment.gpu)]
  switch (action.kind) {
    case 'enable-mig':
      return [[...on, '-mig', '1']]
    case 'destroy-instance':
      return ['-dci', '-dgi'].map((call) => ['mig', call, ...on, '-gi', String(action.instanceId)])
    case 'create-instance':
      return [['mig', ...on, '-cgi', `${action.segment.profile}:${action.segment.start}`, '-C']]
    case 'lock-clock':
      return [[...on, '-lgc', `${action.smClockMhz},${action.smClockMhz}`]]
    case 'reset-clock':
      return [[...on, '-rgc']]
    default:
      return []
  }
}

/** Returns an action as shell commands. Values that are not known yet are described in angle brackets. */
export function renderAction(action: DeployAction, directory: string, command: readonly string[]): string[] {
  switch (action.kind) {
    case 'stop-workers':
      return [`kill ${action.segment.workers.map(({ pid }) => pid).join(' ')}  # ${action.segment.model}`]
    case 'stop-mps':
      return [`echo quit | ${mpsEnvironment(action.segment.mpsDirectory).join(' ')} nvidia-cuda-mps-control`]
    case 'start-mps':
    case 'start-workers': {
      const { gpu, profile, start, processes } = action.segment
      const device = `CUDA_VISIBLE_DEVICES=<UUID of ${profile} at ${start} on GPU ${gpu}>`
      const [pipe, log] = mpsEnvironment(mpsDirectory(directory, action.segment))
      if (action.kind === 'start-workers') {
        const words = workerCommand(command, action.segment).map(quoted).join(' ')
        return [`${device} ${pipe} ${words} &${processes > 1 ? `  # ${processes} times` : ''}`]
      }
      const server = `echo start_server -uid "$(id -u)" | ${pipe} ${log} nvidia-cuda-mps-control`
      return [`${device} ${pipe} ${log} nvidia-cuda-mps-control -d`, server]
    }
    default:
      return smiCalls(action).map((args) => `nvidia-smi ${args.join(' ')}`)
  }
}

function mpsEnvironment(place: string): [pipe: string, log: string] {
  const folder = (name: string) => quoted(join(place, name))
  return [`CUDA_MPS_PIPE_DIRECTORY=${folder('pipe')}`, `CUDA_MPS_LOG_DIRECTORY=${folder('log')}`]
}

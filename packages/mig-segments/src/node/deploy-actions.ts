import { PctodlError } from '@pctodl/platform'
import { checkInteger } from '../check.js'
import type { MappedBoard } from '../map/fleet-map.js'
import type { DeployedSegment, TargetSegment } from './deployment-state.js'
import type { NodeLayout } from './mig-layout.js'

/** One action on a node. */
export type DeployAction =
  | { readonly kind: 'stop-workers'; readonly segment: DeployedSegment }
  | { readonly kind: 'stop-mps'; readonly segment: DeployedSegment }
  | { readonly kind: 'destroy-instance'; readonly gpu: number; readonly instanceId: number; readonly profile: string }
  | { readonly kind: 'enable-mig'; readonly gpu: number }
  | { readonly kind: 'lock-clock'; readonly gpu: number; readonly smClockMhz: number }
  | { readonly kind: 'reset-clock'; readonly gpu: number }
  | { readonly kind: 'create-instance'; readonly segment: TargetSegment }
  | { readonly kind: 'start-mps'; readonly segment: TargetSegment }
  | { readonly kind: 'start-workers'; readonly segment: TargetSegment }

/** Says which deployed processes still run. */
export interface DeployedHealth {
  /** Whether all of its workers run. */
  workersRun(segment: DeployedSegment): boolean
  mpsRuns(segment: DeployedSegment): boolean
}

/**
 * Returns a node's part of a map for boards of one type, with GPU indices on that node.
 *
 * @param gpu key of the board
 */
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
 * Otherwise, other GPUs are not touched. Models that share an instance are segments at one place: they have one MPS
 * daemon, and workers each.
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

/** Whether two instances, or segments of instances, start at the same slice of the same GPU. */
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

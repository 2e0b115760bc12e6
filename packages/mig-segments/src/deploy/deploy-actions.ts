import { InvalidInputError, PctodlError } from '@pctodl/platform'
import type { MigBoard } from '../mig-geometry.js'
import type { MappedGpu, MappedSegment } from '../output/deployment-map.js'
import type { DeployedSegment } from './deployment-state.js'
import type { NodeLayout } from './mig-layout.js'

/** A segment to be brought up. */
export interface TargetSegment extends MappedSegment {
  /** Index on this node. */
  readonly gpu: number
}

/** One thing to do on a node. */
export type DeployAction =
  | { readonly kind: 'stop-workers'; readonly segment: DeployedSegment }
  | { readonly kind: 'stop-mps'; readonly segment: DeployedSegment }
  | { readonly kind: 'destroy-instance'; readonly gpu: number; readonly instanceId: number; readonly profile: string }
  | { readonly kind: 'enable-mig'; readonly gpu: number }
  | { readonly kind: 'create-instance'; readonly segment: TargetSegment; readonly profile: string }
  | { readonly kind: 'start-mps'; readonly segment: TargetSegment; readonly profile: string }
  | { readonly kind: 'start-workers'; readonly segment: TargetSegment; readonly profile: string }

/** Whether what a deployment started is still there. */
export interface DeployedHealth {
  /** All of its workers. */
  workersRun(segment: DeployedSegment): boolean
  mpsRuns(segment: DeployedSegment): boolean
}

/** The part of a map that is on one node, with GPU indices as the node counts them. */
export function segmentsOfNode(gpus: readonly MappedGpu[], node: number, gpusPerNode: number): TargetSegment[] {
  if (!(Number.isInteger(node) && node >= 0)) throw new InvalidInputError('node', node, 'an integer of at least 0')
  return gpus
    .filter(({ index }) => Math.floor(index / gpusPerNode) === node)
    .flatMap(({ index, segments }) => segments.map((segment) => ({ ...segment, gpu: index % gpusPerNode })))
}

/**
 * What must be done so that a node runs exactly these segments. What runs as it should is left alone; on the GPUs of the map
 * everything else goes, and so does what an earlier deployment left on other GPUs. GPUs that neither names are not touched.
 *
 * @param withWorkers whether processes are started, or only the instances and their MPS daemons
 * @throws PctodlError `NO_SUCH_GPU` for a GPU that the node does not have
 */
export function deployActions(
  target: readonly TargetSegment[],
  deployed: readonly DeployedSegment[],
  layout: NodeLayout,
  board: MigBoard,
  withWorkers: boolean,
  health: DeployedHealth,
): DeployAction[] {
  const touched = new Set([...target, ...deployed].map(({ gpu }) => gpu))
  for (const { gpu } of target) assertGpu(gpu, layout)
  const present = deployed.filter((segment) =>
    layout.instances.some(({ gpu, instanceId }) => gpu === segment.gpu && instanceId === segment.instanceId),
  )
  const sameInstance = (a: TargetSegment | DeployedSegment, b: TargetSegment | DeployedSegment) =>
    a.gpu === b.gpu && a.start === b.start && a.sizeGpcs === b.sizeGpcs
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
  for (const segment of leaving) {
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
  const missing = target.filter((segment) => !reused(segment))
  const named = (segment: TargetSegment) => ({ segment, profile: board.profileNames[segment.sizeGpcs] })
  for (const segment of missing) actions.push({ kind: 'create-instance', ...named(segment) })
  for (const segment of target) {
    const standing = reused(segment)
    if (!standing || !health.mpsRuns(standing)) actions.push({ kind: 'start-mps', ...named(segment) })
  }
  if (withWorkers) {
    for (const segment of target) if (!running(segment)) actions.push({ kind: 'start-workers', ...named(segment) })
  }
  return actions
}

function assertGpu(gpu: number, { gpus }: NodeLayout): void {
  if (gpus.some(({ index }) => index === gpu)) return
  throw new PctodlError('NO_SUCH_GPU', `the map uses GPU ${gpu} of this node, which has ${gpus.length}; check --node`)
}

import { PctodlError } from '@pctodl/platform'
import { workerCommand } from '../worker-command.js'
import type { DeployAction, TargetSegment } from './deploy-actions.js'
import { type DeployedSegment, writeDeployment } from './deployment-state.js'
import { type NodeMachine, readGpus, readLayout, smi } from './node-machine.js'
import { mpsDirectory, smiCalls } from './render-actions.js'

export interface ApplyOptions {
  /** Folder of the deployment. It contains the state file, and a folder for each instance. */
  readonly directory: string
  readonly stateFile: string
  /** Command of a worker. If it is empty, no workers are started. */
  readonly command: readonly string[]
  readonly signal: AbortSignal
  onAction(action: DeployAction): void
}

/**
 * Performs actions one after another, and stores the state after each. An interrupted deployment is resumed by
 * deploying again.
 */
export async function applyActions(
  actions: readonly DeployAction[],
  deployed: readonly DeployedSegment[],
  machine: NodeMachine,
  { directory, stateFile, command, signal, onAction }: ApplyOptions,
): Promise<DeployedSegment[]> {
  let segments = [...deployed]
  const store = (next: readonly DeployedSegment[]) => {
    segments = [...next]
    writeDeployment(stateFile, segments)
  }
  const replace = (old: DeployedSegment, next: DeployedSegment) =>
    store([...segments.filter((segment) => segment !== old), next])
  /**
   * Returns the entry of the state that a target replaces: its own, one without workers, or that of another model in
   * the same instance.
   */
  const standing = (target: TargetSegment): DeployedSegment => {
    const there = segments.filter(({ gpu, start }) => gpu === target.gpu && start === target.start)
    const found =
      there.find(({ model }) => model === target.model) ?? there.find(({ workers }) => workers.length === 0) ?? there[0]
    if (!found) throw new PctodlError('DEPLOYMENT_STATE', `GPU ${target.gpu} has no instance at slice ${target.start}`)
    return found
  }
  for (const action of actions) {
    signal.throwIfAborted()
    onAction(action)
    for (const args of smiCalls(action)) await smiUnlessGone(args)
    switch (action.kind) {
      case 'stop-workers': {
        await machine.stopWorkers(action.segment.workers)
        const { uuid, model } = action.segment
        const current = segments.find((segment) => segment.uuid === uuid && segment.model === model)
        if (!current) break
        // If this is the last model, the entry of the instance itself stays.
        const shared = segments.some((other) => other !== current && other.uuid === current.uuid)
        if (shared) store(segments.filter((segment) => segment !== current))
        else replace(current, { ...current, workers: [] })
        break
      }
      case 'stop-mps':
        await machine.stopMps(action.segment.mpsDirectory)
        // The entry of an instance that is destroyed later stays. That of an instance that is already gone is removed.
        if (!actions.some((other) => destroys(other, action.segment))) {
          store(segments.filter(({ uuid }) => uuid !== action.segment.uuid))
        }
        break
      case 'create-instance': {
        store([...segments, await describe(action.segment, machine, directory)])
        break
      }
      case 'lock-clock':
      case 'reset-clock': {
        const { gpu } = action
        const smClockMhz = action.kind === 'lock-clock' ? action.smClockMhz : undefined
        store(segments.map((segment) => (segment.gpu === gpu ? { ...segment, smClockMhz } : segment)))
        break
      }
      case 'enable-mig':
        await assertMigEnabled(action.gpu)
        break
      case 'start-mps': {
        const segment = standing(action.segment)
        await machine.startMps(segment.mpsDirectory, segment.uuid)
        break
      }
      case 'start-workers': {
        const before = standing(action.segment)
        const { model, batchSize, processes } = action.segment
        const words = workerCommand(command, action.segment)
        const beside = before.model !== model && before.workers.length > 0
        const log = beside ? `${encodeURIComponent(model)}-` : ''
        const workers = machine.startWorkers(before.mpsDirectory, before.uuid, words, processes, log)
        const after = { ...before, model, batchSize, processes, workers }
        if (beside) store([...segments, after])
        else replace(before, after)
        break
      }
      case 'destroy-instance':
        store(segments.filter((segment) => !destroys(action, segment)))
        break
    }
  }
  return segments
}

function destroys(action: DeployAction, { gpu, instanceId }: DeployedSegment): boolean {
  return action.kind === 'destroy-instance' && action.gpu === gpu && action.instanceId === instanceId
}

/** After an interrupted deployment, a GPU instance may have no compute instance. Then there is none to destroy. */
async function smiUnlessGone(args: readonly string[]): Promise<void> {
  try {
    await smi(args)
  } catch (error) {
    const gone = args.includes('-dci') && error instanceof PctodlError && /No compute instances/i.test(error.message)
    if (!gone) throw error
  }
}

async function describe(target: TargetSegment, machine: NodeMachine, directory: string): Promise<DeployedSegment> {
  const { instances } = await readLayout()
  const made = instances.find(({ gpu, start }) => gpu === target.gpu && start === target.start)
  if (!made) {
    throw new PctodlError(
      'MIG_NOT_CREATED',
      `nvidia-smi made no instance at slice ${target.start} of GPU ${target.gpu}`,
    )
  }
  return {
    ...target,
    instanceId: made.instanceId,
    uuid: machine.migUuid(target.gpu, made.instanceId),
    mpsDirectory: mpsDirectory(directory, target),
    workers: [],
  }
}

/** On an A100 that is in use, MIG mode changes only with a reset of the board. */
async function assertMigEnabled(gpu: number): Promise<void> {
  const gpus = await readGpus()
  if (gpus.some(({ index, migEnabled }) => index === gpu && migEnabled)) return
  throw new PctodlError(
    'MIG_PENDING',
    `GPU ${gpu} enters MIG mode with its next reset; end what uses it, run \`nvidia-smi -i ${gpu} --gpu-reset\`, deploy again`,
  )
}

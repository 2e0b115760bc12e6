import type { Terminal } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { workerCommand } from '../worker-command.js'
import { type BoardControl, migUuid, startWorkers, stopWorkers } from './board-control.js'
import { type DeployAction, mpsDirectory, renderAction, samePlace, smiCalls } from './deploy-actions.js'
import { type DeployedSegment, type TargetSegment, writeDeployment } from './deployment-state.js'
import { readGpus, readLayout, smi, smiUnless } from './mig-layout.js'

/** Performs actions and stores the state after each. To resume an interrupted deployment, deploy again. */
export async function applyActions(
  actions: readonly DeployAction[],
  deployed: readonly DeployedSegment[],
  control: BoardControl,
  { stateFile, directory, command }: { stateFile: string; directory: string; command: readonly string[] },
  { stderr, signal }: Pick<Terminal, 'stderr' | 'signal'>,
): Promise<readonly DeployedSegment[]> {
  let segments = deployed
  const store = (next: readonly DeployedSegment[]) => {
    segments = next
    writeDeployment(stateFile, segments)
  }
  const instanceOf = (target: TargetSegment): DeployedSegment => {
    const found = segments.find((segment) => samePlace(segment, target))
    if (found) return found
    throw new PctodlError('DEPLOYMENT_STATE', `GPU ${target.gpu} has no instance at slice ${target.start}`)
  }
  for (const action of actions) {
    signal.throwIfAborted()
    for (const line of renderAction(action, directory, command)) stderr.write(`${line}\n`)
    for (const args of smiCalls(action)) {
      // After an interrupted deployment, a GPU instance may have no compute instance. Then there is none to destroy.
      if (args.includes('-dci')) await smiUnless(/No compute instances/i, args)
      else await smi(args)
    }
    switch (action.kind) {
      case 'stop-workers': {
        await stopWorkers(control, action.segment.workers)
        const others = segments.filter((segment) => segment !== action.segment)
        // The entry of the last model stays, because it describes the instance.
        const shared = others.some(({ uuid }) => uuid === action.segment.uuid)
        store(shared ? others : [...others, { ...action.segment, workers: [] }])
        break
      }
      case 'stop-mps':
        await new control.mps.MpsDaemon({ directory: action.segment.mpsDirectory }).stop()
        // If a later action destroys the instance, its entry stays until then. Otherwise, the instance is already gone.
        if (!actions.some((other) => destroys(other, action.segment))) {
          store(segments.filter(({ uuid }) => uuid !== action.segment.uuid))
        }
        break
      case 'destroy-instance':
        store(segments.filter((segment) => !destroys(action, segment)))
        break
      case 'enable-mig':
        // On an A100 that is in use, MIG mode changes only with a reset of the board.
        if ((await readGpus()).some(({ index, migEnabled }) => index === action.gpu && migEnabled)) break
        throw new PctodlError(
          'MIG_PENDING',
          `GPU ${action.gpu} enters MIG mode with its next reset; end what uses it, run \`nvidia-smi -i ${action.gpu} --gpu-reset\`, deploy again`,
        )
      case 'lock-clock':
      case 'reset-clock': {
        const { gpu, smClockMhz } = { smClockMhz: undefined, ...action }
        store(segments.map((segment) => (segment.gpu === gpu ? { ...segment, smClockMhz } : segment)))
        break
      }
      case 'create-instance':
        store([...segments, await describe(action.segment, control, directory)])
        break
      case 'start-mps': {
        const { mpsDirectory: place, uuid } = instanceOf(action.segment)
        await new control.mps.MpsDaemon({ directory: place }).start({ deviceUuids: [uuid] })
        break
      }
      case 'start-workers': {
        const { model, batchSize, processes } = action.segment
        const segment = { ...instanceOf(action.segment), model, batchSize, processes }
        // The new entry replaces entries of the same instance that have no workers.
        const others = segments.filter((each) => !samePlace(each, segment) || each.workers.length > 0)
        const log = others.some((each) => samePlace(each, segment)) ? `${encodeURIComponent(model)}-` : ''
        const workers = await startWorkers(control, segment, workerCommand(command, action.segment), log)
        store([...others, { ...segment, workers }])
        break
      }
    }
  }
  return segments
}

function destroys(action: DeployAction, { gpu, instanceId }: DeployedSegment): boolean {
  return action.kind === 'destroy-instance' && action.gpu === gpu && action.instanceId === instanceId
}

async function describe(target: TargetSegment, control: BoardControl, directory: string): Promise<DeployedSegment> {
  const { instances } = await readLayout()
  const made = instances.find((instance) => samePlace(instance, target))
  if (!made) {
    const where = `slice ${target.start} of GPU ${target.gpu}`
    throw new PctodlError('MIG_NOT_CREATED', `nvidia-smi made no instance at ${where}`)
  }
  const { instanceId } = made
  const uuid = migUuid(control, target.gpu, instanceId)
  return { ...target, instanceId, uuid, mpsDirectory: mpsDirectory(directory, target), workers: [] }
}

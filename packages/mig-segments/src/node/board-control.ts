import { spawn } from 'node:child_process'
import { closeSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openToWrite } from '@pctodl/command-line'
import type * as MpsControl from '@pctodl/mps-control'
import type * as NvmlControl from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { DeployedHealth } from './deploy-actions.js'
import type { DeployedSegment } from './deployment-state.js'
import type { NodeGpu } from './mig-layout.js'

/** Time that a worker has to exit before it is killed, ms. */
const GRACE_MS = 10_000

type Workers = DeployedSegment['workers']

/** The packages that control boards. They are optional, because planning works without them. */
export interface BoardControl {
  readonly nvml: typeof NvmlControl
  readonly mps: typeof MpsControl
}

/** @throws PctodlError `MISSING_PEER` if one of the packages is not installed */
export async function loadBoardControl(): Promise<BoardControl> {
  try {
    return { nvml: await import('@pctodl/nvml-control'), mps: await import('@pctodl/mps-control') }
  } catch (cause) {
    const { code } = cause as { code?: string }
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause
    const remedy = 'npm install @pctodl/nvml-control @pctodl/mps-control'
    throw new PctodlError('MISSING_PEER', `deploying needs two packages more: ${remedy}`, { cause })
  }
}

export function healthBy({ nvml, mps }: BoardControl): DeployedHealth {
  return {
    workersRun: ({ workers }) => workers.every((worker) => nvml.isRunning(worker)),
    mpsRuns: ({ mpsDirectory }) => new mps.MpsPlace({ directory: mpsDirectory }).daemon() !== null,
  }
}

/**
 * Takes the leases of GPUs, so that no other program of this project changes them, and returns a function that releases
 * them. The boards are not opened, because an A100 that is open cannot enter MIG mode.
 */
export function leaseGpus({ nvml }: BoardControl, gpus: readonly NodeGpu[]): () => void {
  const folder = new nvml.LeaseFolder()
  const locks = gpus.map(({ uuid }) => folder.tryLock(uuid))
  const release = () => {
    for (const lock of locks) lock?.release()
  }
  const held = gpus[locks.indexOf(null)]
  if (!held) return release
  release()
  throw new nvml.LeaseHeldError(`GPU ${held.index}`, folder.holder(held.uuid))
}

/** Returns the UUID of the MIG device that fills a GPU instance. */
export function migUuid({ nvml }: BoardControl, gpu: number, instanceId: number): string {
  const instances = nvml.loadNvml().deviceByIndex(gpu).mig()?.instances ?? []
  const device = instances.find(({ gpuInstanceId }) => gpuInstanceId === instanceId)
  if (device) return device.uuid
  throw new PctodlError('NO_MIG_DEVICE', `NVML shows no MIG device in GPU instance ${instanceId} of GPU ${gpu}`)
}

/**
 * Starts the processes of a segment, which go on after this program has ended, each with a log in the segment's folder.
 *
 * @param log prefix of the logs' names
 */
export async function startWorkers(
  control: BoardControl,
  { mpsDirectory: directory, uuid, processes }: DeployedSegment,
  command: readonly string[],
  log: string,
): Promise<Workers> {
  const { environment } = new control.mps.MpsPlace({ directory })
  mkdirSync(directory, { recursive: true })
  const workers: Workers = []
  for (let i = 0; i < processes; i++) {
    const output = openToWrite(join(directory, `worker-${log}${i}.log`), { existing: 'append' })
    const child = spawn(command[0]!, command.slice(1), {
      detached: true,
      stdio: ['ignore', output, output],
      env: { ...process.env, ...environment, CUDA_VISIBLE_DEVICES: uuid },
    })
    closeSync(output)
    // If the start failed, the error event comes later. The failure is noticed by the missing process identity.
    child.on('error', () => {})
    child.unref()
    const identity = child.pid === undefined ? null : control.nvml.processIdentity(child.pid)
    if (!identity) {
      await stopWorkers(control, workers)
      throw new PctodlError('WORKER', `cannot start ${command[0]}; is it on PATH? See ${directory}`)
    }
    workers.push({ pid: identity.pid, startTime: identity.startTime })
  }
  return workers
}

/** Ends processes with SIGTERM, and kills those that still run after a grace period. */
export async function stopWorkers({ nvml }: BoardControl, workers: Workers): Promise<void> {
  const outcomes = await Promise.all(workers.map((worker) => nvml.endProcess(worker, GRACE_MS)))
  const foreign = workers[outcomes.indexOf('not-permitted')]
  if (!foreign) return
  throw new PctodlError('WORKER', `process ${foreign.pid} belongs to another user; end it as that user, deploy again`)
}

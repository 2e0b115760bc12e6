import { spawn } from 'node:child_process'
import { closeSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openToWrite } from '@pctodl/command-line'
import type * as MpsControl from '@pctodl/mps-control'
import type * as NvmlControl from '@pctodl/nvml-control'
import { PctodlError, systemClock } from '@pctodl/platform'
import type { DeployedHealth } from './deploy-actions.js'
import type { DeployedSegment } from './deployment-state.js'
import type { NodeGpu } from './mig-layout.js'

/** Time that workers have to exit before they are killed, ms. */
const GRACE_MS = 10_000
const POLL_MS = 50

type Worker = DeployedSegment['workers'][number]

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
 * Takes the leases of GPUs, so that no other program of this project changes them during the deployment. The boards are
 * not opened, because an A100 that is open cannot enter MIG mode.
 *
 * @returns a function that releases the leases
 * @throws LeaseHeldError naming the holder
 */
export function leaseGpus({ nvml }: BoardControl, gpus: readonly NodeGpu[]): () => void {
  const folder = new nvml.LeaseFolder()
  const locks: { release(): void }[] = []
  const release = () => {
    for (const lock of locks) lock.release()
  }
  for (const { index, uuid } of gpus) {
    const lock = folder.tryLock(uuid)
    if (!lock) {
      release()
      throw new nvml.LeaseHeldError(`GPU ${index}`, folder.holder(uuid))
    }
    locks.push(lock)
  }
  return release
}

/**
 * Returns the UUID of the MIG device that fills a GPU instance.
 *
 * @throws PctodlError `NO_MIG_DEVICE`
 */
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
export function startWorkers(
  control: BoardControl,
  { mpsDirectory: directory, uuid, processes }: DeployedSegment,
  command: readonly string[],
  log: string,
): Worker[] {
  const place = new control.mps.MpsPlace({ directory })
  mkdirSync(directory, { recursive: true })
  const workers: Worker[] = []
  for (let i = 0; i < processes; i++) {
    const output = openToWrite(join(directory, `worker-${log}${i}.log`), { existing: 'append' })
    try {
      const child = spawn(command[0]!, command.slice(1), {
        detached: true,
        stdio: ['ignore', output, output],
        env: { ...process.env, ...place.environment, CUDA_VISIBLE_DEVICES: uuid },
      })
      // If the start failed, the error event comes later. The failure is noticed by the missing process identity.
      child.on('error', () => {})
      const identity = child.pid === undefined ? null : control.nvml.processIdentity(child.pid)
      child.unref()
      if (!identity) throw new PctodlError('WORKER', `cannot start ${command[0]}; is it on PATH? See ${directory}`)
      workers.push({ pid: identity.pid, startTime: identity.startTime })
    } catch (error) {
      signalAll(control, workers, 'SIGTERM')
      throw error
    } finally {
      closeSync(output)
    }
  }
  return workers
}

/** Ends processes with SIGTERM, and kills those that still run after a grace period. */
export async function stopWorkers(control: BoardControl, workers: readonly Worker[]): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    signalAll(control, workers, signal)
    const deadlineMs = systemClock.now() + GRACE_MS
    while (workers.some((worker) => control.nvml.isRunning(worker)) && systemClock.now() < deadlineMs) {
      await systemClock.sleep(POLL_MS)
    }
  }
}

function signalAll({ nvml }: BoardControl, workers: readonly Worker[], signal: NodeJS.Signals): void {
  for (const worker of workers) {
    try {
      if (nvml.isRunning(worker)) process.kill(worker.pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

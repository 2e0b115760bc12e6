import { execFile, spawn } from 'node:child_process'
import { closeSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openToWrite } from '@pctodl/command-line'
import type * as MpsControl from '@pctodl/mps-control'
import type * as NvmlControl from '@pctodl/nvml-control'
import { PctodlError, systemClock } from '@pctodl/platform'
import type { DeployedHealth } from './deploy-actions.js'
import type { DeployedSegment } from './deployment-state.js'
import { gpuListQuery, type NodeGpu, type NodeLayout, parseGpuList, parseInstanceList } from './mig-layout.js'

/** Time that workers have to exit before they are killed, ms. */
const GRACE_MS = 10_000
const POLL_MS = 50

type Worker = DeployedSegment['workers'][number]

/** The GPUs, MPS daemons and processes of this machine. */
export class NodeMachine implements DeployedHealth {
  readonly #nvml: typeof NvmlControl
  readonly #mps: typeof MpsControl

  private constructor(nvml: typeof NvmlControl, mps: typeof MpsControl) {
    this.#nvml = nvml
    this.#mps = mps
  }

  /**
   * Loads the packages that control boards. They are optional, because planning works without them.
   *
   * @throws PctodlError `MISSING_PEER` if one of the packages is not installed
   */
  static async open(): Promise<NodeMachine> {
    try {
      return new NodeMachine(await import('@pctodl/nvml-control'), await import('@pctodl/mps-control'))
    } catch (cause) {
      const { code } = cause as { code?: string }
      if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause
      throw new PctodlError(
        'MISSING_PEER',
        'deploying needs two packages more: npm install @pctodl/nvml-control @pctodl/mps-control',
        { cause },
      )
    }
  }

  /**
   * Takes the leases of GPUs, so that no other program of this project changes them during the deployment. The boards
   * are not opened, because an A100 that is open cannot enter MIG mode.
   *
   * @returns a function that releases the leases
   * @throws LeaseHeldError naming the holder
   */
  lease(gpus: readonly NodeGpu[]): () => void {
    const folder = new this.#nvml.LeaseFolder()
    const locks: { release(): void }[] = []
    const release = () => {
      for (const lock of locks) lock.release()
    }
    try {
      for (const { index, uuid } of gpus) {
        const lock = folder.tryLock(uuid)
        if (!lock) throw new this.#nvml.LeaseHeldError(`GPU ${index}`, folder.holder(uuid))
        locks.push(lock)
      }
    } catch (error) {
      release()
      throw error
    }
    return release
  }

  /**
   * Returns the UUID of the MIG device that fills a GPU instance.
   *
   * @throws PctodlError `NO_MIG_DEVICE`
   */
  migUuid(gpu: number, instanceId: number): string {
    const instances = this.#nvml.loadNvml().deviceByIndex(gpu).mig()?.instances ?? []
    const device = instances.find(({ gpuInstanceId }) => gpuInstanceId === instanceId)
    if (!device) {
      throw new PctodlError('NO_MIG_DEVICE', `NVML shows no MIG device in GPU instance ${instanceId} of GPU ${gpu}`)
    }
    return device.uuid
  }

  async startMps(directory: string, uuid: string): Promise<void> {
    await new this.#mps.MpsDaemon({ directory }).start({ deviceUuids: [uuid] })
  }

  async stopMps(directory: string): Promise<void> {
    await new this.#mps.MpsDaemon({ directory }).stop()
  }

  /**
   * Starts processes that go on after this program has ended, each with a log in the segment's folder.
   *
   * @param log prefix of the logs' names
   */
  startWorkers(directory: string, uuid: string, command: readonly string[], count: number, log = ''): Worker[] {
    const place = new this.#mps.MpsPlace({ directory })
    mkdirSync(directory, { recursive: true })
    const workers: Worker[] = []
    for (let i = 0; i < count; i++) {
      const output = openToWrite(join(directory, `worker-${log}${i}.log`), { existing: 'append' })
      try {
        const child = spawn(command[0]!, command.slice(1), {
          detached: true,
          stdio: ['ignore', output, output],
          env: { ...process.env, ...place.environment, CUDA_VISIBLE_DEVICES: uuid },
        })
        // If the start failed, the error event comes later. The failure is noticed by the missing process identity.
        child.on('error', () => {})
        const identity = child.pid === undefined ? null : this.#nvml.processIdentity(child.pid)
        child.unref()
        if (!identity) throw new PctodlError('WORKER', `cannot start ${command[0]}; is it on PATH? See ${directory}`)
        workers.push({ pid: identity.pid, startTime: identity.startTime })
      } catch (error) {
        for (const worker of workers) this.#signal(worker, 'SIGTERM')
        throw error
      } finally {
        closeSync(output)
      }
    }
    return workers
  }

  workersRun({ workers }: DeployedSegment): boolean {
    return workers.every((worker) => this.#nvml.isRunning(worker))
  }

  mpsRuns({ mpsDirectory }: DeployedSegment): boolean {
    return new this.#mps.MpsPlace({ directory: mpsDirectory }).daemon() !== null
  }

  /** Ends processes with SIGTERM, and kills those that still run after a grace period. */
  async stopWorkers(workers: readonly Worker[]): Promise<void> {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      for (const worker of workers) this.#signal(worker, signal)
      const deadlineMs = systemClock.now() + GRACE_MS
      while (workers.some((worker) => this.#nvml.isRunning(worker)) && systemClock.now() < deadlineMs) {
        await systemClock.sleep(POLL_MS)
      }
    }
  }

  #signal(worker: Worker, signal: NodeJS.Signals): void {
    if (!this.#nvml.isRunning(worker)) return
    try {
      process.kill(worker.pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/**
 * Runs `nvidia-smi`.
 *
 * @throws PctodlError `NO_SMI` if `nvidia-smi` is missing, `SMI_FAILED` with its output if it fails
 */
export function smi(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('nvidia-smi', [...args], { env: { ...process.env, LC_ALL: 'C' } }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout)
      if (error.code === 'ENOENT') {
        return reject(new PctodlError('NO_SMI', 'nvidia-smi is not on PATH; it comes with the NVIDIA driver'))
      }
      const said = `${stdout}${stderr}`.trim().split('\n').join(' ')
      reject(new PctodlError('SMI_FAILED', `nvidia-smi ${args.join(' ')} ended with ${error.code}: ${said}`))
    })
  })
}

/**
 * Reads the GPUs of this machine.
 *
 * @throws PctodlError `NO_SMI`, `SMI_FAILED`
 */
export async function readGpus(): Promise<NodeGpu[]> {
  return parseGpuList(await smi(gpuListQuery))
}

/**
 * Reads the GPUs and MIG instances of this machine.
 *
 * @throws PctodlError `NO_SMI`, `SMI_FAILED`
 */
export async function readLayout(): Promise<NodeLayout> {
  const gpus = await readGpus()
  const instances = []
  for (const { index, migEnabled } of gpus) {
    if (migEnabled) instances.push(...parseInstanceList(await listInstances(index)))
  }
  return { gpus, instances }
}

/** Lists the MIG instances of a GPU. `nvidia-smi` fails if there are none. */
async function listInstances(gpu: number): Promise<string> {
  try {
    return await smi(['mig', '-lgi', '-i', String(gpu)])
  } catch (error) {
    if (error instanceof PctodlError && /No GPU instances found/i.test(error.message)) return ''
    throw error
  }
}

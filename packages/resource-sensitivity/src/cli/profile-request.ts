import os from 'node:os'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import type { ProfileOptions } from '../profile/profile-job.js'
import { type ContainerOptions, dataInContainer, dataOnHost } from '../profile/runs/container.js'
import { allowedCpus } from '../profile/runs/cpu-affinity.js'
import { measureDataset } from '../profile/runs/measure-machine.js'
import type { RunSetting } from '../profile/runs/run-training.js'
import { assertScript, optionAmong, type TrainingJob } from '../profile/runs/training-command.js'

export interface RawProfileOptions {
  readonly dockerImg?: string
  readonly containerRuntime: 'docker' | 'podman'
  readonly containerMnt: string
  readonly containerGpus: string
  readonly numGpus: number
  readonly jobName: string
  readonly nnodes: number
  readonly node_rank: number
  readonly master_addr: string
  readonly master_port: number
  readonly cpu: number
  readonly memory?: number
  readonly cgroup?: string
  readonly batchSize?: number
  readonly maxIterations?: number
  readonly data?: string
  readonly datasetGb?: number
  readonly numSamples?: number
  readonly residentGb: number
  readonly memoryPoints?: number[]
  readonly serverGpus?: number
  readonly storageMbps?: number
  readonly memGbps?: number
  readonly tolerance: number
  readonly runTimeout: number
  readonly output?: string
  readonly json?: boolean
}

/** A checked `profile` call: everything that can be determined without a run. */
export interface ProfileRequest {
  readonly setting: RunSetting
  readonly search: ProfileOptions['search']
  readonly matrix: Omit<ProfileOptions, 'storageMBps' | 'search' | 'run' | 'memoryGBps'>
  readonly dataset: { files(): string[] }
  /** Everything that affects a run's result. */
  readonly identity: unknown
  readonly output: string
}

/** @throws InvalidInputError, LimitUnavailableError */
export function resolveProfileRequest(
  raw: RawProfileOptions,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ProfileRequest {
  assertScript(script)
  if (!/^[\w.-]+$/.test(raw.jobName)) {
    throw new InvalidInputError('job-name', raw.jobName, 'letters, digits, dots, dashes: it becomes part of file names')
  }
  const cpus = allowedCpus()
  const maxCpus = raw.cpu === 0 ? cpus.length : Math.min(raw.cpu, cpus.length)
  const named = raw.data ?? optionAmong(args, '--data')
  const dataFolder = named === null ? null : path.resolve(dataOnHost(named, raw.containerMnt))
  const container = containerOf(raw, dataFolder)
  const job: TrainingJob = {
    name: raw.jobName,
    script,
    args: dataArgument(raw, args, container),
    gpus: raw.numGpus,
    batchPerGpu: raw.batchSize ?? integerAmong(args, 'batch-size', 256, '-b', '--batch-size', '--batch'),
    maxIterations: raw.maxIterations ?? integerAmong(args, 'max-iterations', 50, '--max-iterations'),
    nodes: raw.nnodes,
    nodeRank: raw.node_rank,
    masterAddress: raw.master_addr,
    masterPort: raw.master_port,
  }
  const setting: RunSetting = {
    job,
    cpus,
    memoryGb: raw.memory ?? null,
    cgroup: raw.cgroup ?? null,
    container,
    workingFolder: process.cwd(),
    timeoutS: raw.runTimeout,
    env,
  }
  let measured: ReturnType<typeof measureDataset> | null = null
  const dataset = () => {
    if (dataFolder === null) {
      throw new InvalidInputError(
        'data',
        undefined,
        'a data set: --data, or --dataset-gb, --num-samples and --storage-mbps',
      )
    }
    measured ??= measureDataset(dataFolder)
    return measured
  }
  const part = raw.numGpus / (raw.serverGpus ?? raw.numGpus)
  if (part > 1) throw new InvalidInputError('server-gpus', raw.serverGpus, `at least --num-gpus (${raw.numGpus})`)
  const percents = raw.memoryPoints ?? Array.from({ length: 11 }, (_, i) => i * 10)
  return {
    setting,
    search: { maxCpus, tolerancePercent: raw.tolerance },
    matrix: {
      job: job.name,
      gpus: job.gpus,
      batchPerGpu: job.batchPerGpu,
      dataset: { gb: raw.datasetGb ?? dataset().gb, samples: raw.numSamples ?? dataset().samples },
      residentGb: raw.residentGb,
      fairShare: { cpus: cpus.length * part, memoryGb: (raw.memory ?? os.totalmem() / 2 ** 30) * part },
      // Every matrix includes the measured column.
      memoryPercents: [...new Set([...percents, 100])].sort((a, b) => a - b),
    },
    dataset: { files: () => dataset().files },
    identity: { job, script: path.resolve(script), container, memoryGb: setting.memoryGb },
    output: path.resolve(raw.output ?? path.join('profiles', job.name, 'profile.json')),
  }
}

function containerOf(raw: RawProfileOptions, dataFolder: string | null): ContainerOptions | null {
  if (raw.dockerImg === undefined) return null
  if (dataFolder === null)
    throw new InvalidInputError('data', undefined, 'the data set to mount in the container: --data')
  return {
    runtime: raw.containerRuntime,
    image: raw.dockerImg,
    mount: raw.containerMnt,
    dataFolder,
    gpus: raw.containerGpus,
  }
}

/**
 * Returns the script's arguments with the path of the data set. A container sees the data set under another path; if a
 * script gets several `--data`, the last one counts.
 */
function dataArgument(raw: RawProfileOptions, args: readonly string[], container: ContainerOptions | null): string[] {
  if (container !== null) return [...args, '--data', dataInContainer(container)]
  return raw.data === undefined ? [...args] : [...args, '--data', raw.data]
}

function integerAmong(args: readonly string[], field: string, otherwise: number, ...names: string[]): number {
  const text = optionAmong(args, ...names)
  if (text === null) return otherwise
  const value = Number(text)
  if (!(Number.isInteger(value) && value >= 1)) {
    throw new InvalidInputError(
      field,
      text,
      `an integer of at least 1 among the script's arguments; or give --${field}`,
    )
  }
  return value
}
